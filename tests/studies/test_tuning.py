import csv
import json
import sys

import pytest

from flockwise.config import parse_config
from flockwise.errors import ConfigError
from flockwise.runs import run
from flockwise.studies.cells import cells_of
from flockwise.studies.file import Tune, read_study
from flockwise.studies.handle import Study
from flockwise.studies.notes import notes_of
from flockwise.studies.outputs import write_outputs
from flockwise.studies.results import Result
from flockwise.studies.searching import budget, proposals
from flockwise.studies.tabulating import tables_of
from flockwise.studies.tuning import tune, with_choices

RATE = "training.learning_rate"
BASE = {"rounds": 2, "split": {"clients": 5, "validation": 0.2}}
SMALL = {
    "name": "tuned", "base": BASE, "seeds": 2,
    "vary": {"aggregation.name": ["mean", "median"], "sampling.fraction": [1.0, 0.6]},
    "tune": {"search": {RATE: [0.0001, 0.3]}, "tries": 4},
}  # fmt: skip


def answered(tries, value):
    """Results of tries, as if they had been run."""
    return [
        Result(
            "s", cell.table, cell.name, cell.seed, labels=dict(cell.labels), config=cell.config.written(),
            tuned=dict(cell.tuned), curves={"accuracy": [value(cell)]}, date=f"{number:04d}",
        )
        for number, cell in enumerate(tries)
    ]  # fmt: skip


def searched(study, value, most=10_000):
    """Search with made-up answers; stops after `most` tries. The searches, and what is on record."""
    cells, record = cells_of(study), []

    def carry_out(tries):
        room = most - len(record)
        record.extend(answered(tries[:room], value))
        return len(tries) <= room

    return tune(cells, lambda: record, None, carry_out), record


def near(cell):
    """The best rate is 0.1 for the mean and 0.01 for the median."""
    wanted = {"mean": 0.1, "median": 0.01}[cell.labels["aggregation.name"]]
    return 1.0 - abs(cell.tuned[RATE] - wanted)


def test_a_small_grid_is_tried_whole_and_the_best_is_chosen():
    study = read_study({**SMALL, "tune": {"search": {RATE: [0.01, 0.1, 1.0]}, "tries": 5}})
    found, record = searched(study, near)
    assert [search.chosen for search in found] == [{RATE: 0.1}, {RATE: 0.01}]
    assert [len(search.tries) for search in found] == [3, 3] and len(record) == 6


def test_every_method_gets_the_same_number_of_tries():
    pytest.importorskip("optuna")
    study = read_study(
        {**SMALL, "tune": {"search": {RATE: {"low": 0.001, "high": 1.0, "log": True}}, "tries": 12}}
    )
    found, _ = searched(study, near)
    assert [len(search.tries) for search in found] == [12, 12]
    for search, wanted in zip(found, (0.1, 0.01), strict=True):
        values = [one.value for one in search.tries]
        assert search.chosen == search.tries[values.index(max(values))].settings
        assert search.chosen[RATE] == pytest.approx(wanted, abs=0.1)
    first = [[one.settings for one in search.tries[:5]] for search in found]
    assert first[0] == first[1]  # all begin alike; later tries go where each method did well


def test_a_search_that_was_interrupted_goes_on_to_the_same_tries():
    pytest.importorskip("optuna")
    study = read_study({**SMALL, "tune": {"search": {RATE: {"low": 0.001, "high": 1.0}}, "tries": 8}})
    whole, _ = searched(study, near)
    for stop in (1, 5, 11):
        part, record = searched(study, near, most=stop)
        assert not all(search.chosen for search in part)

        def carry_out(tries, record=record):
            record.extend(answered(tries, near))
            return True

        assert tune(cells_of(study), lambda record=record: record, None, carry_out) == whole
        assert len(record) == 16


def test_what_is_on_record_needs_no_optuna(monkeypatch):
    pytest.importorskip("optuna")
    study = read_study({**SMALL, "tune": {"search": {RATE: {"low": 0.001, "high": 1.0}}, "tries": 6}})
    whole, record = searched(study, near)
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert tune(cells_of(study), lambda: record) == whole
    with pytest.raises(ConfigError, match=r"flockwise\[tuning\]"):
        searched(study, near)


def test_a_try_that_fails_is_an_answer_and_only_failures_are_an_error():
    study = read_study({**SMALL, "tune": {"search": {"training.momentum": [0.5, 2.0]}, "tries": 2}})
    cells, record = cells_of(study), []

    def carry_out(tries):
        for cell in tries:
            if cell.error:
                record.append(
                    Result("s", cell.table, cell.name, cell.seed, tuned=dict(cell.tuned), error=cell.error)
                )
            else:
                record.extend(answered([cell], lambda cell: 0.5))
        return True

    found = tune(cells, lambda: record, None, carry_out)
    assert [search.chosen for search in found] == [{"training.momentum": 0.5}] * 2
    assert found[0].tries[1].value is None and "momentum" in found[0].tries[1].error
    worse = read_study({**SMALL, "tune": {"search": {"training.momentum": [2.0, 3.0]}, "tries": 2}})
    record.clear()
    cells = cells_of(worse)
    failed = with_choices(cells, tune(cells, lambda: record, None, carry_out), None)
    assert all("none of 2 tries could be run" in cell.error for cell in failed)


def test_lower_may_be_better():
    study = read_study({**SMALL, "tune": {"search": {RATE: [0.01, 0.1]}, "tries": 2, "number": "test_loss"}})
    cells, record = cells_of(study), []

    def carry_out(tries):
        for result, cell in zip(answered(tries, near), tries, strict=True):
            result.curves["test_loss"] = [cell.tuned[RATE]]
            record.append(result)
        return True

    assert all(search.chosen == {RATE: 0.01} for search in tune(cells, lambda: record, None, carry_out))


def test_settings_that_were_chosen_are_in_every_cell_of_the_method_and_in_no_other():
    study = read_study({**SMALL, "tune": {"search": {RATE: [0.01, 0.1]}, "tries": 2}})
    found, _ = searched(study, near)
    tuned = with_choices(cells_of(study), found, None)
    assert {(c.labels["aggregation.name"], c.config.training.learning_rate) for c in tuned} == {
        ("mean", 0.1), ("median", 0.01),
    }  # fmt: skip
    assert all(cell.config.evaluation.on == "test" for cell in tuned)
    waiting = with_choices(cells_of(study), tune(cells_of(study), lambda: []), None)
    results = answered(cells_of(study), lambda cell: 0.5)
    assert len(tables_of(study, waiting, results)[0].missing) == 8  # results of before do not count


def test_by_tunes_each_label_apart():
    by = ["aggregation.name", "sampling.fraction"]
    study = read_study({**SMALL, "tune": {"search": {RATE: [0.01, 0.1]}, "tries": 2, "by": by}})
    found, _ = searched(study, near)
    assert [search.label for search in found] == ["mean, 1", "mean, 0.6", "median, 1", "median, 0.6"]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"tune": {"search": {RATE: [0.1]}, "by": ["nobody"]}}, "tune.by = 'nobody': no such axis"),
        ({"tune": {"search": {}}}, "tune.search"),
        ({"tune": {"search": {RATE: []}}}, "is empty"),
        ({"tune": {"search": {RATE: {"low": 2.0, "high": 1.0}}}}, "must be below high"),
        ({"tune": {"search": {RATE: {"low": 0.0, "high": 1.0, "log": True}}}}, "must be above 0"),
        ({"tune": {"search": {RATE: {"low": 0.0, "high": 1.0, "deep": 1}}}}, "deep"),
        ({"tune": {"search": {RATE: [0.1]}, "number": "official_accuracy"}}, "must be a number of rounds"),
        ({"tune": {"search": {RATE: [0.1]}, "number": "flocks"}}, "must be a number of rounds"),
    ],
)
def test_a_search_that_cannot_be_is_told_before_anything_runs(changed, told):
    with pytest.raises(ConfigError, match=told):
        read_study({**SMALL, **changed})


def test_without_validation_data_nothing_is_tuned():
    study = read_study({**SMALL, "base": {**BASE, "split": {"clients": 5, "validation": 0}}})
    with pytest.raises(ConfigError, match=r"split.validation = 0 leaves nothing to judge"):
        tune(cells_of(study), lambda: [])
    with pytest.raises(ConfigError, match=r"split.validation = 0: evaluation.on = 'validation'"):
        parse_config({"split": {"validation": 0}, "evaluation": {"on": "validation"}})


def test_whole_numbers_and_budgets():
    pytest.importorskip("optuna")
    walk = proposals(Tune(search={"training.epochs": {"low": 1, "high": 4, "whole": True}}, tries=3))
    value = next(walk)["training.epochs"]
    assert isinstance(value, int) and 1 <= value <= 4
    assert budget(Tune(search={"a": [1, 2], "b": [1, 2, 3]}, tries=4)) == 4
    assert budget(Tune(search={"a": [1, 2], "b": [1, 2, 3]}, tries=40)) == 6


def test_a_run_judged_on_validation_data_never_looks_at_test_data(tmp_path, monkeypatch):
    from flockwise.data import Federation

    seen = set()
    arrays = Federation.arrays
    monkeypatch.setattr(
        Federation, "arrays", lambda self, client, part: (seen.add(part), arrays(self, client, part))[1]
    )
    content = {**BASE, "evaluation": {"on": "validation"}, "engine": {"workers": 1}}
    judged = run(content, out=tmp_path / "a")
    assert seen == {"train", "validation"}
    tested = run({**content, "evaluation": {"on": "test"}}, out=tmp_path / "b")
    assert "test" in seen
    a, b = (found.checkpoint()["models"] for found in (judged, tested))
    assert (a == b).all()  # what is judged steers nothing
    assert judged.facts["accuracy"][-1] != tested.facts["accuracy"][-1]


def test_a_study_is_tuned_and_carried_out_and_says_so(tmp_path):
    study = Study(SMALL, out=tmp_path)
    assert study.carry_out(jobs=1)
    assert [search.chosen for search in study.searches] == [{RATE: 0.3}] * 2
    tries = sorted((tmp_path / "tuning" / "results").rglob("*.json"))
    assert len(tries) == 4
    said = [json.loads(path.read_text()) for path in tries]
    assert all(one["config"]["evaluation"]["on"] == "validation" and one["tuned"] for one in said)
    assert len(study.results) == 8 and all(result.tuned == {RATE: 0.3} for result in study.results)
    again = Study(SMALL, out=tmp_path)
    assert not again.missing and not again.untuned(again.cells)
    notes = notes_of(tables_of(again.file, again.cells, again.every_result())[0])
    assert any(
        "Tuned on validation data (accuracy), 2 tries each of training.learning_rate with seed 0" in note
        and note.endswith("Chosen: training.learning_rate = 0.3 for mean, median.")
        for note in notes
    )
    write_outputs(again.file, again.cells, again.every_result(), tmp_path, searches=again.searches)
    rows = list(csv.DictReader((tmp_path / "tuning.csv").read_text().splitlines()))
    assert [(row["tuned"], row[RATE], row["chosen"]) for row in rows] == [
        ("mean", "0.0001", "0"), ("mean", "0.3", "1"), ("median", "0.0001", "0"), ("median", "0.3", "1"),
    ]  # fmt: skip
    assert "on validation data" in (tmp_path / "page.html").read_text()


def test_only_the_searches_of_cells_that_are_asked_for_are_carried_out(tmp_path):
    study = Study(SMALL, out=tmp_path)
    mine = [cell for cell in study.cells if "median" in cell.name]
    assert study.carry_out(jobs=1, cells=mine)
    assert [(search.label, bool(search.chosen)) for search in study.searches] == [
        ("mean", False),
        ("median", True),
    ]
    assert {result.cell for result in study.results} == {cell.name for cell in mine}
    assert len(list((tmp_path / "tuning" / "results").rglob("*.json"))) == 2


def test_methods_are_tuned_once_for_all_tables_that_share_a_search():
    study = read_study(
        {
            **SMALL, "vary": {"aggregation.name": ["mean", "median"]},
            "tune": {"search": {RATE: [0.01, 0.1]}, "table": "I"},
            "tables": {"I": {}, "II": {"base": {"rounds": 3}}, "III": {"vary": {"aggregation.name": ["mean", "krum"]}}},
        }
    )  # fmt: skip
    found, _ = searched(
        study, lambda cell: near(cell) if cell.labels["aggregation.name"] != "krum" else cell.tuned[RATE]
    )
    assert [(s.table, s.label) for s in found] == [("I", "mean"), ("I", "median"), ("III", "krum")]
    tuned = {
        (cell.table, cell.labels["aggregation.name"]): cell.config.training.learning_rate
        for cell in with_choices(cells_of(study), found, None)
    }
    assert tuned == {
        ("I", "mean"): 0.1, ("I", "median"): 0.01, ("II", "mean"): 0.1, ("II", "median"): 0.01,
        ("III", "mean"): 0.1, ("III", "krum"): 0.1,
    }  # fmt: skip
