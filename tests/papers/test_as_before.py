"""What the papers' cells and numbers were before they became studies: `before.json` was recorded with the code of then."""

import json
from pathlib import Path
from typing import Any

import pytest

from flockwise.papers import NAMES, PaperStudy
from flockwise.papers.paper import folder_of
from flockwise.studies.legacy import older_files, said_hashes
from flockwise.studies.published.bars import former_names, read_bars
from flockwise.studies.results import current

RESULTS = Path(__file__).parents[2] / "papers"
BEFORE: dict[str, Any] = json.loads((Path(__file__).parent / "before.json").read_text())


def _table(name: str, table: str, cell: str, scale: str = "full") -> str:
    """Where a cell is now: Mini-FL is one table; nobody merged, which stood for L1 in Table IV, is a table of its own."""
    if name == "mini-fl":
        return "rules"
    return "IV alone" if (name, table) == ("fl-hc", "IV") and cell.startswith("l1,") else table


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_says_what_it_said(name: str) -> None:
    for scale in ("full", "short", "smoke"):
        cells = {(c.table, c.name): c for c in PaperStudy(name, scale=scale, seeds=1).cells}
        wanted = [row for row in BEFORE[name]["cells"] if row[0] == scale]
        assert wanted
        for _, table, cell, mark, at in wanted:
            found = cells[_table(name, table, cell), cell]
            assert (found.beginning.at if found.beginning else None) == at
            assert mark in said_hashes(found.content, 0, at), (scale, table, cell)


@pytest.mark.parametrize("name", NAMES)
def test_every_result_still_stands_with_the_same_numbers(name: str) -> None:
    renamed, total = former_names(folder_of(name)), 0
    for scale in ("full", "short"):
        study = PaperStudy(name, scale=scale, out=RESULTS, seeds=5)
        cells = {(c.table, c.name, c.seed): c for c in study.cells}
        # Some were measured again since: what was measured first stays on record.
        older = [result for result in study.every_result() if result.commit == "unknown"]
        results = {result.key: result for result in current(older, study.cells, study.directory)}
        wanted = [row for row in BEFORE[name]["results"] if row[0] == scale]
        total += len(wanted)
        for _, table, cell, seed, values in wanted:
            key = (_table(name, table, cell), cell, seed)
            for number, value in values.items():
                called = renamed.get(number, number)
                assert results[key].values[called] == value
                shown = study.numbers(cells[key], results[key]).get(called)
                assert shown is None or (shown == value if value is not None else shown != shown)
    assert total == len(BEFORE[name]["results"])


def test_as_many_results_as_there_were() -> None:
    assert sum(len(BEFORE[name]["results"]) for name in NAMES) == 583
    kept = [path for name in NAMES for path, _ in older_files(RESULTS / name / "results")]
    assert len([path for path in kept if "-committed-" not in path.name]) == 583


@pytest.mark.parametrize("name", NAMES)
def test_every_published_number_is_still_there(name: str) -> None:
    renamed = former_names(folder_of(name))
    now = {(bar.table, bar.cell, bar.number): bar.value for bar in read_bars(folder_of(name))}
    for table, cell, number, value in BEFORE[name]["published"]:
        if name == "byzantine-cfl" and cell.startswith("cifar-10") and number == "honest clients removed":
            continue  # the paper says that benign clients leave there: 0 was wrong
        place = "rules" if name == "mini-fl" else table
        assert now[place, cell, renamed.get(number, number)] == value


def test_both_statistics_of_flic_table_1_are_read_from_one_curve() -> None:
    study = PaperStudy("flic", scale="full", out=RESULTS, seeds=1)
    cell = next(cell for cell in study.cells if (cell.table, cell.name) == ("I", "label swap"))
    result = next(result for result in study.results if result.key == ("I", "label swap", 0))
    numbers = study.numbers(cell, result)
    assert numbers["accuracy before, last round"] == pytest.approx(0.7143)  # as it was first committed
    assert numbers["accuracy before"] == pytest.approx(0.74576)
    second_half = [value for value in result.curves["accuracy"][100:200] if value is not None]
    assert sum(second_half) / len(second_half) == pytest.approx(0.74576, abs=5e-6)


def test_l1_has_one_reading_and_what_was_first_measured_with_it_counts() -> None:
    study = PaperStudy("fl-hc", scale="full", out=RESULTS, seeds=1)
    assert {c.content["strategy"]["flocks"] for c in study.cells if c.table == "IV"} == {45}
    first = next(result for result in study.results if result.key == ("IV", "l1, average", 0))
    assert (first.values["accuracy after clustering"], first.values["accuracy at the end"]) == (96.81, 98.88)


def test_results_that_were_replaced_are_as_they_were_committed() -> None:
    replaced = [path for name in NAMES for path, _ in older_files(RESULTS / name / "replaced")]
    assert len(replaced) == 123 and all("-committed-" in path.name for path in replaced)
