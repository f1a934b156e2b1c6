"""The papers' data files: what they name exists, and hardly any of it is code."""

from pathlib import Path

import pytest

from flockwise.papers import NAMES, PaperStudy
from flockwise.papers.paper import folder_of
from flockwise.studies.finished import own_reader
from flockwise.studies.published.bars import Of, read_bars
from flockwise.studies.published.claims import read_claims
from flockwise.studies.published.comparisons import _fillings
from flockwise.studies.published.figures import read_figures
from flockwise.studies.published.readings import read_readings
from flockwise.studies.reading import specs_of


def _numbers(name: str) -> dict[tuple[str, str], set[str]]:
    cells = PaperStudy(name, scale="full", seeds=1).cells
    return {(c.table, c.name): {*specs_of(c.spec), *c.spec.numbers} for c in cells}


@pytest.mark.parametrize("name", NAMES)
def test_published_numbers_are_of_cells_that_exist_and_none_is_there_twice(name: str) -> None:
    known, bars = _numbers(name), read_bars(folder_of(name))
    for bar in bars:
        assert bar.number in known[bar.table, bar.cell], bar
        if isinstance(bar.block.trivial, Of):
            assert (bar.block.trivial.table, bar.block.trivial.cell) in known
    places = [(bar.table, bar.cell, bar.number) for bar in bars]
    assert bars and len(set(places)) == len(places)


@pytest.mark.parametrize("name", NAMES)
def test_claims_name_cells_and_numbers_that_exist(name: str) -> None:
    known, claims = _numbers(name), read_claims(folder_of(name))
    assert len(claims) >= 9
    for claim in claims:
        for test in claim.tests:
            for filled in _fillings(test):
                for side in (test.left, test.right):
                    if isinstance(side, Of):
                        of = {key: text.format_map(filled) for key, text in side.model_dump().items()}
                        assert of["number"] in known[of["table"], of["cell"]], (claim.says, of)


def test_claims_about_what_was_never_run_are_split_and_the_rest_says_so() -> None:
    parts = {name: [claim.part for claim in read_claims(folder_of(name)) if claim.part] for name in NAMES}
    assert {name: len(found) for name, found in parts.items() if found} == {
        "byzantine-cfl": 10 * 3 + 4 * 2, "fl-hc": 5 * 4, "communities": 2 * 3 + 3 * 2, "mini-fl": 3,
    }  # fmt: skip
    assert {"data cifar-10", "fraction 0.5", "fraction 1", "rate 70%"} <= {
        p for found in parts.values() for p in found
    }


@pytest.mark.parametrize("name", NAMES)
def test_figures_readings_and_prose_are_there(name: str) -> None:
    known, folder = _numbers(name), folder_of(name)
    figures = read_figures(folder)
    assert len({figure.name for figure in figures}) == len(figures) > 0
    for figure in figures:
        assert all((figure.table, cell) in known for cell in figure.cells), figure.name
    assert read_readings(folder)
    assert (folder / "page.md").read_text().startswith("## What was first measured, and what changed")


@pytest.mark.parametrize("name", NAMES)
def test_readers_exist(name: str) -> None:
    study = PaperStudy(name, scale="full", seeds=1)
    for table in study.file.every_table().values():
        wanted = [spec.of for spec in table.numbers.values()] + [table.arrays or "", table.compute or ""]
        for reader in wanted:
            assert ":" not in reader or callable(own_reader(reader, study.directory))


def test_papers_are_data_and_their_code_is_short() -> None:
    root = folder_of("flic").parent
    code = {
        path.relative_to(root).as_posix(): path for path in root.glob("*/*.py") if path.name != "__init__.py"
    }
    assert set(code) == {
        "communities/readers.py",
        "fl_hc/readers.py",
        "flic/readers.py",
        "flic/regression.py",
    }
    assert all(len(path.read_text().splitlines()) <= 60 for path in code.values())
    assert {path.name for path in Path(root).glob("*.py")} == {"__init__.py", "paper.py"}
