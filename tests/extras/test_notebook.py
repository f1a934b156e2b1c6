"""The notebook in Jupyter's own machinery: a kernel runs its cells and their outputs come back."""

import os
from pathlib import Path

import pytest

client = pytest.importorskip("nbclient", reason="nbclient is not installed: .ci/extended extras")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_steps.ipynb"


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_executes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    read = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(read)
    place = {"metadata": {"path": str(tmp_path)}}
    done = client.NotebookClient(read, timeout=600, resources=place, env=dict(os.environ)).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and not [output for output in outputs if output.output_type == "error"]
