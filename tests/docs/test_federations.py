"""The natural federations: their studies can be carried out as written, and their page is made from result files."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from flockwise.cli.app import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "federations"
STUDIES = sorted([*(ROOT / "examples" / "federations").glob("*.toml"), *FOLDER.glob("*.toml")])


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("federations_page", FOLDER / "page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_a_study_is_whole_and_on_the_page(path: Path) -> None:
    listed = CliRunner().invoke(app, ["study", str(path), "--list"])
    assert listed.exit_code == 0, listed.output
    methods = {line.partition(", seed")[0] for line in listed.output.splitlines() if ", seed" in line}
    assert {"one model (FedAvg)", "own models", "flocks (FLIC)", "oracle flocks"} <= methods
    assert f"flockwise study {path.relative_to(ROOT)}" in (ROOT / "docs" / "federations.md").read_text()


def test_every_table_and_picture_is_made_from_results(page: ModuleType) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.filled(text) == text, "run python benchmarks/federations/page.py"
    assert {mark[2] for mark in page.MARK.finditer(text)} == set(page.parts())
    assert "| --- | ---:" not in page.MARK.sub("", text)  # no table of numbers outside the marks
    drawn = page.pictures()
    for name, svg in drawn.items():
        assert (ROOT / "docs" / "images" / name).read_text(encoding="utf-8") == svg, name
    shown = {part.partition(")")[0] for part in text.split("images/")[1:]}
    assert shown <= set(drawn)


def test_results_are_of_what_the_studies_say(page: ModuleType) -> None:
    for kind in page.KINDS:
        kept = list((FOLDER / kind / "results").glob("*.json"))
        table = page.as_they_come(kind)
        assert len(kept) == len(table.results) == len(table.cells) - len(table.missing)  # none is stale
