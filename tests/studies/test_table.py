import math

import pytest

from flockwise.errors import ConfigError
from flockwise.studies.cells import cells_of
from flockwise.studies.file import read_study
from flockwise.studies.notes import notes_of
from flockwise.studies.showing import entry_text, heads
from flockwise.studies.tabulating import tables_of
from tests.studies.made_up import by_method, result_of, study_of, table_of

GRID = {"method": ["mean", "median"], "attack": ["none", "noise", "flip"]}


def grid(values, seeds=3, **more):
    return table_of(study_of(GRID, seeds, **more), values)


def steady(labels, seed):
    drop = {"none": 0.0, "noise": 0.3, "flip": 0.5}[labels["attack"]]
    return {"accuracy": 0.9 - (drop if labels["method"] == "mean" else drop / 10) + seed / 1000}


def test_rows_and_columns_are_the_axes_in_the_order_of_the_file():
    table = grid(steady)
    assert table.rows == [("mean",), ("median",)]
    assert [column.labels for column in table.columns] == [("none",), ("noise",), ("flip",)]
    assert table.entries[0][1].mean == pytest.approx(0.601)
    assert [entry.mark for entry in table.column(2)] == ["", "best"]


def test_axes_that_are_named_nowhere_are_columns_so_that_no_cell_hides_another():
    study = study_of({**GRID, "split": ["a", "b"]}, show={"rows": "method", "columns": "split"})
    table = table_of(study, steady)
    assert table.column_axes == ("split", "attack")
    assert len(table.columns) == 6 and all(entry.seeds == 3 for row in table.entries for entry in row)


def test_several_numbers_are_the_innermost_columns():
    table = grid(
        lambda labels, seed: {"accuracy": 0.5, "missed": 1.0}, show={"numbers": ["accuracy", "missed"]}
    )
    assert heads(table)[:2] == ["none: accuracy", "none: missed attackers"]


def test_the_direction_comes_from_the_catalogue_and_a_study_may_say_another():
    rows = {"a": [1.0, 1.0, 1.0], "b": [5.0, 5.0, 5.0]}
    assert [row[0].mark for row in by_method(rows, "false_alarms").entries] == ["best", ""]
    assert [row[0].mark for row in by_method(rows, "flocks").entries] == ["", ""]
    told = by_method(rows, "flocks", numbers={"flocks": {"of": "flocks", "better": "higher"}})
    assert [row[0].mark for row in told.entries] == ["", "best"]


def test_the_worst_column_takes_the_worst_of_each_seed():
    def values(labels, seed):
        weak = {"noise": 0, "flip": 1}.get(labels["attack"])
        return {"accuracy": 0.2 if weak == seed % 2 else 0.9}

    table = grid(values, seeds=2, show={"worst": "attack"})
    worst = table.entries[0][-1]
    assert table.columns[-1].setting == "worst attack"
    assert worst.mean == pytest.approx(0.2) and worst.seeds == 2
    assert min(entry.mean for entry in table.entries[0][:-1]) == pytest.approx(0.55)


def test_the_worst_over_one_of_two_column_axes_is_taken_for_each_of_the_other():
    study = study_of({**GRID, "split": ["a", "b"]}, show={"worst": "attack"})
    table = table_of(study, lambda labels, seed: {"accuracy": 0.3 if labels["split"] == "a" else 0.7})
    assert [(column.setting, table.entries[0][6 + c].mean) for c, column in enumerate(table.columns[6:])] == [
        ("a, worst attack", pytest.approx(0.3)), ("b, worst attack", pytest.approx(0.7)),
    ]  # fmt: skip


def test_the_worst_of_fewer_settings_is_not_marked():
    study = study_of(GRID, skip=[{"method": "mean", "attack": "flip"}], show={"worst": "attack"})
    table = table_of(study, steady)
    assert table.entries[0][2].left_out and entry_text(table.entries[0][2], 3) == ""
    assert [row[-1].mark for row in table.entries] == ["", ""]
    assert any("fewer settings" in note and "mean" in note for note in notes_of(table))


def test_a_failed_seed_is_told_and_its_row_is_not_marked():
    def values(labels, seed):
        fails = labels == {"method": "median", "attack": "none"} and seed == 1
        return "diverged\nat round 3" if fails else steady(labels, seed)

    table = grid(values)
    entry = table.entries[1][0]
    assert entry.seeds == 2 and entry.wanted == 3 and entry.mark == ""
    assert entry_text(entry, 3).endswith("(1 failed)")
    assert any("1 of 18 cells failed: median, none (seed 1): diverged" in note for note in notes_of(table))


def test_one_reason_of_many_failures_is_said_once():
    table = grid(lambda labels, seed: "diverged" if labels["method"] == "median" else steady(labels, seed))
    told = next(note for note in notes_of(table) if "cells failed" in note)
    assert told.count("diverged") == 1 and told.startswith("9 of 18 cells failed: median, none (seed 0), ")


def test_a_cell_that_failed_and_then_ran_is_no_failure():
    study = study_of({"method": ["a"]}, 1)
    cells = cells_of(study)
    results = [
        result_of(cells[0], {"accuracy": 0.5}, date="2026-01-01"), result_of(cells[0], "no", date="2026-01-02")
    ]  # fmt: skip
    table = tables_of(study, cells, results)[0]
    assert not table.failures and table.entries[0][0].mean == 0.5


def test_a_config_that_cannot_be_run_is_a_failed_cell():
    study = read_study({"vary": {"aggregation.name": ["mean", "no_such_rule"]}})
    table = tables_of(study, cells_of(study), [])[0]
    assert list(table.entries[1][0].failed) == [0] and "no_such_rule" in table.entries[1][0].failed[0]
    assert table.entries[0][0].missing == (0,)


def test_a_cell_run_twice_with_one_seed_counts_once():
    study = study_of({"method": ["a"]}, 1)
    cells = cells_of(study)
    twice = [result_of(cells[0], {"accuracy": v}, date=f"2026-01-0{d}") for d, v in ((1, 0.1), (2, 0.3))]
    entry = tables_of(study, cells, twice)[0].entries[0][0]
    assert entry.mean == 0.3 and entry.seeds == 1


def test_missing_cells_are_counted_and_named():
    table = grid(lambda labels, seed: steady(labels, seed) if seed == 0 else None)
    assert all(
        entry.missing == (1, 2) and entry.half_width is None and not entry.mark for entry in table.entries[0]
    )
    assert any("12 of 18 cells are not run yet" in note for note in notes_of(table))
    assert len(table.missing) == 12


def test_a_target_that_one_seed_never_reached_is_not_the_best():
    table = by_method({"a": [3.0, math.nan, 4.0], "b": [9.0, 9.0, 8.0], "c": [9.0, 9.5, 8.0]}, "seconds")
    assert [row[0].mark for row in table.entries] == ["", "best", "tied"]
    assert entry_text(table.entries[0][0], 1).endswith("(1 no value)")


def test_infinity_is_no_value():
    table = by_method({"a": [math.inf, 1.0], "b": [1.0, 1.0]}, "test_loss")
    assert table.entries[0][0].unmeasured == (0,)


def test_unequal_seeds_are_compared_on_the_common_ones():
    table = by_method({"a": [0.9, 0.91, 0.92, 0.9], "b": [0.2, 0.21], "c": [0.95]})
    assert [row[0].mark for row in table.entries] == ["best", "", ""]
    assert [row[0].seeds for row in table.entries] == [4, 2, 1]


def test_one_seed_says_so():
    table = by_method({"a": [0.9], "b": [0.1]})
    assert notes_of(table)[0] == "One seed (0): no intervals, no marks."
    assert not any(entry.mark for row in table.entries for entry in row)


def test_notes_define_the_numbers():
    notes = notes_of(by_method({"a": [0.9], "b": [0.1]}))
    assert any(note.startswith("accuracy: mean over all honest clients") for note in notes)


def test_a_study_without_axes_is_a_table_of_one():
    study = read_study({"compute": "nobody:nothing"})
    cells = cells_of(study)
    table = tables_of(study, cells, [result_of(cells[0], {"accuracy": 0.4})])[0]
    assert len(table.rows) == 1 and table.entries[0][0].mean == 0.4


def test_a_study_whose_cells_are_all_left_out_has_no_table():
    study = study_of({"method": ["a"], "attack": ["x"]}, skip=[{"method": "a"}], show={"worst": "attack"})
    assert tables_of(study, cells_of(study), []) == []


@pytest.mark.parametrize(
    ("show", "told"),
    [
        ({"worst": "method"}, "show.worst = 'method': is an axis of the rows"),
        (
            {"rows": ["method"], "columns": ["method"]},
            "show.columns = 'method': is an axis of the rows already",
        ),
        ({"worst": "nobody"}, "no such axis"),
    ],
)
def test_a_layout_that_cannot_be_is_told_before_anything_runs(show, told):
    with pytest.raises(ConfigError, match=told):
        study_of(GRID, show=show)
