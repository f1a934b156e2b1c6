"""The studies of the natural federations can be carried out as they are written, and their page shows all of them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app

ROOT = Path(__file__).parents[2]
STUDIES = sorted((ROOT / "examples" / "federations").glob("*.toml"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_is_whole_and_its_page_shows_it(path: Path) -> None:
    listed = CliRunner().invoke(app, ["study", str(path), "--list"])
    assert listed.exit_code == 0, listed.output
    page = (ROOT / "docs" / "federations.md").read_text()
    methods = {line.partition(", seed")[0] for line in listed.output.splitlines() if ", seed" in line}
    assert {"one model (FedAvg)", "own models", "flocks (FLIC)", "oracle flocks"} <= methods
    part = page.partition(f"## {path.stem.capitalize()}")[2].partition("\n## ")[0]
    assert all(f"| {method} |" in part for method in methods)
    assert f"images/federation-{path.stem}.svg" in part
    assert (ROOT / "docs" / "images" / f"federation-{path.stem}.svg").is_file()
    assert f"flockwise study examples/federations/{path.name}" in page


def test_there_are_three() -> None:
    assert [path.stem for path in STUDIES] == ["arms", "keyboards", "meters"]
