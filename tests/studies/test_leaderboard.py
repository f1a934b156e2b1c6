"""The leaderboard: its study run small, a stranger's row beside the others, pages that say what was not run."""

import importlib.util
import sys
import tomllib
from pathlib import Path

import pytest

from flockwise.studies.entry import Entry
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
    pairs = [(table, one) for table in tables.values() for one in page.behind(table)]
    ahead = [one.ahead for _, one in sorted(pairs, key=page._weight)]
    assert ahead == sorted(ahead, reverse=True), "what may be chance comes last"


def test_another_is_ahead_if_the_interval_of_its_paired_gain_is_above_zero(page):
    where = ("here", "accuracy", Entry({0: 0.5, 1: 0.6, 2: 0.7}), "other", Entry())
    assert page.Shortfall(*where, Entry({0: 0.1, 1: 0.1, 2: 0.11}), False).ahead
    assert not page.Shortfall(*where, Entry({0: 0.3, 1: 0.0, 2: 0.01}), False).ahead
    assert not page.Shortfall(*where, Entry({0: 0.3}), False).ahead


def test_what_has_no_value_is_a_dash_and_what_diverged_says_so(small, page):
    table = small.tables()[0]
    told = [
        page._entry(table, entry, 0, 3)
        for entry in (
            Entry(),
            Entry(unmeasured=(0, 1)),
            Entry(missing=(0,)),
            Entry(
                failed={0: "failed: round 11: no reply could be used (update holds NaN or infinite values)"}
            ),
            Entry(failed={0: "no such thing"}),
            Entry({1: 0.5}, failed={0: "failed: update has norm 2e+23; at most 1e+15 is allowed"}),
        )
    ]
    assert told == ["-", "-", "not run", "diverged", "failed", "0.500 (1 seeds, 1 diverged)"]


def test_pages_keep_what_is_around_the_marks(small, page, tmp_path):
    file = tmp_path / "page.md"
    file.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n")
    page.between_marks(file, page.verdicts({table.name: table for table in small.tables()}))
    text = file.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
