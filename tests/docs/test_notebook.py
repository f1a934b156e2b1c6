"""The notebook runs from its first cell to its last, without Jupyter, and holds no output of anybody's machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOK = json.loads((ROOT / "examples" / "first_steps.ipynb").read_text(encoding="utf-8"))
CODE = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_it_is_a_notebook_without_outputs() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["metadata"]["kernelspec"]["language"]) == (4, "python")
    for cell in NOTEBOOK["cells"]:
        assert cell["cell_type"] in ("markdown", "code") and isinstance(cell["source"], list)
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_every_cell_runs_in_order(tmp_path: Path) -> None:
    program = (
        "import ast, json, sys\n"
        "space = {}\n"
        "for number, source in enumerate(json.load(sys.stdin)):\n"
        "    exec(compile(source, f'cell {number}', 'exec'), space)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], input=json.dumps(CODE), cwd=tmp_path, text=True,
        capture_output=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "flock-0.safetensors.card.md").is_file()


def test_what_it_links_to_is_there() -> None:
    import re

    text = "\n".join("".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert (ROOT / "examples" / link).resolve().is_file(), link
