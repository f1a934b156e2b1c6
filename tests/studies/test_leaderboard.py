"""The leaderboard: its study run small, a stranger's row beside the others, pages that say what was not run."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from flockwise.studies.file import read_study
from flockwise.studies.handle import Study

FOLDER = Path(__file__).parents[2] / "benchmarks" / "leaderboard"
FEW = ("shepherd", "oracle", "FeSEM")


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("leaderboard_page", FOLDER / "page.py")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Three methods and a stranger's, two seeds, the first setting and newcomers, in the smoke version."""
    content = tomllib.loads((FOLDER / "study.toml").read_text(encoding="utf-8"))
    content["vary"]["method"] = {name: content["vary"]["method"][name] for name in FEW}
    content["tune"]["search"] = {"training.learning_rate": [0.1]}
    for table in content["tables"].values():
        table["seeds"] = 2
        table.pop("skip", None)
        table["show"]["bounds"] = ["oracle"]
    study = Study(
        read_study({**content, "name": "small"}),
        scale="smoke",
        out=tmp_path_factory.mktemp("board"),
        rows={"mine": "flic"},
    )
    study.directory = FOLDER
    wanted = ("swap, none", "newcomers, new kind")
    cells = [cell for cell in study.cells if cell.table != "mnist" and cell.name.endswith(wanted)]
    assert study.carry_out(cells=cells, jobs=1) and not study.failed
    return study


def test_every_cell_of_the_study_has_a_config():
    for scale in ("", "smoke"):
        wrong = {
            cell.error for cell in Study(FOLDER / "study.toml", scale=scale, seeds=1).cells if cell.error
        }
        assert not wrong


def test_the_board_has_a_strangers_row_and_says_what_was_not_run(small, page):
    tables = {table.name: table for table in small.tables()}
    text = page.board(tables)
    rows = [line for line in text.splitlines() if line.startswith("| mine |")]
    assert len(rows) >= 2 and "not run" in text
    assert f"- {tables['mnist'].called}: 32 of 32 cells not run, 0 failed" in text
    assert "not measured yet" in text, "bars of what was not run are left open"


def test_an_oracle_is_never_the_best(small):
    for table in small.tables():
        place = [labels[0] for labels in table.rows].index("oracle")
        assert not any(entry.mark for entry in table.entries[place])


def test_what_is_against_us_comes_first(small, page):
    tables = {table.name: table for table in small.tables()}
    text = page.board(tables)
    assert text.startswith("## Where `shepherd` is not the best")
    short = [one for table in tables.values() for one in page.behind(table)]
    assert short and all(f"| {one.best} |" in text for one in short)


def test_pages_keep_what_is_around_the_marks(small, page, tmp_path):
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    page.between_marks(file, page.verdicts({table.name: table for table in small.tables()}))
    text = file.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
