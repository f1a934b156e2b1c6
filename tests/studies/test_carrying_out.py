"""Cells are ordinary runs: interrupted, failing, killed, forked or done twice, nothing is lost and nothing edited."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

import flockwise as fw
from flockwise.studies import Study
from flockwise.studies.results import read_result, results_in, stands, write_result
from flockwise.studies.work import Bench, Stopped, carry_out, units_of

BASE = {
    "rounds": 4, "split": {"name": "label_swap", "clients": 8, "groups": 2}, "training": {"learning_rate": 0.1},
    "checkpoint": {"every": 1},
}  # fmt: skip
RULES = {"mean": {}, "median": {"aggregation": {"name": "median"}}}
WRONG = {"krum": {"aggregation": {"name": "krum", "attackers": 9}}}


def study(folder: Path, **more) -> Study:
    return Study({"name": "small", "base": BASE, "vary": {"rule": RULES}, **more}, out=folder)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "results").rglob("*.json"))}


def test_a_cell_gives_the_numbers_of_the_run_that_it_is(tmp_path):
    found = study(tmp_path / "study")
    assert found.carry_out(jobs=1) and not found.missing
    alone = fw.run({**BASE, "aggregation": {"name": "median"}}, out=tmp_path / "alone")
    result = next(r for r in found.results if r.cell == "median")
    assert result.curves["accuracy"] == [round(float(v), 6) for v in alone.facts["accuracy"]]
    assert result.values["bytes_sent"] == alone.facts["bytes"].sum() > 0
    clients, server = result.values["client_seconds"], result.values["server_seconds"]
    assert clients > 0 and server > 0 and clients + server <= result.values["seconds"] + 0.002
    assert result.values["pairs_merged"] == 1.0  # two kinds, one flock
    assert result.config["strategy"]["name"] == "fedavg" and result.config["gate"]["weight_cap"] == 5.0
    for told in (result.commit, result.date, result.versions["torch"], result.machine["cpu"], result.command):
        assert told
    assert not any((tmp_path / "study" / "runs").iterdir())


def test_side_by_side_gives_the_same_as_one_after_the_other(tmp_path):
    one, two = study(tmp_path / "one", seeds=2), study(tmp_path / "two", seeds=2)
    one.carry_out(jobs=1)
    two.carry_out(jobs=2)
    assert {r.key: r.curves for r in one.results} == {r.key: r.curves for r in two.results}


def test_finished_cells_are_kept_and_nothing_is_edited(tmp_path):
    found = study(tmp_path)
    found.carry_out(jobs=1)
    before = contents(tmp_path)
    again = study(tmp_path, seeds=2)
    assert {cell.seed for cell in again.missing} == {1}
    again.carry_out(jobs=1)
    again.carry_out(jobs=1, cells=[again.cells[0]])  # run again: another file
    after = contents(tmp_path)
    assert before.items() <= after.items() and len(after) == 5
    assert len(again.results) == 4 and not again.missing


def test_a_stop_loses_nothing(tmp_path):
    whole = study(tmp_path / "whole")
    whole.carry_out(jobs=1)
    rounds: list[int] = []
    stopped = study(tmp_path / "stopped")
    bench = Bench("small", tmp_path / "stopped")
    unit = units_of(stopped.cells)[0]
    with pytest.raises(Stopped):
        list(carry_out(unit, bench, lambda: len(rounds) >= 2, lambda _, told: rounds.append(told.round)))
    assert rounds and max(rounds) < 4 and not stopped.results
    went_on: list[int] = []
    list(carry_out(unit, bench, watch=lambda _, told: went_on.append(told.round)))
    assert went_on[0] > 1  # from the checkpoint, not from the start
    stopped.carry_out(jobs=1)
    assert {r.key: r.curves for r in stopped.results} == {r.key: r.curves for r in whole.results}


def test_a_result_has_its_cpu_seconds_and_what_was_begun_elsewhere_has_none(tmp_path):
    bench, unit = Bench("small", tmp_path), units_of(study(tmp_path).cells)[0]
    ((_, whole),) = carry_out(unit, bench)
    assert whole.cpu_seconds is not None and whole.cpu_seconds > 0
    rounds: list[int] = []
    with pytest.raises(Stopped):
        list(carry_out(unit, bench, lambda: len(rounds) >= 2, lambda _, told: rounds.append(told.round)))
    ((_, resumed),) = carry_out(unit, bench)  # another process may have trained its first rounds
    times = ("seconds", "client_seconds", "server_seconds")
    assert resumed.values == {**whole.values, **{name: resumed.values[name] for name in times}}
    assert resumed.cpu_seconds is None
    first, second = sorted((tmp_path / "results").rglob("*.json"), key=lambda path: len(path.name))
    assert read_result(first) == whole and "cpu_seconds" not in second.read_text()


def test_cpu_seconds_are_those_of_the_process_and_of_its_workers(tmp_path, monkeypatch):
    own, of_workers = iter(range(100)), iter(range(0, 1000, 10))
    monkeypatch.setattr(time, "process_time", lambda: next(own))
    monkeypatch.setattr(os, "times", lambda: (77.0, 88.0, next(of_workers), 0.0, 99.0))
    ((_, result),) = carry_out(units_of(study(tmp_path).cells)[0], Bench("small", tmp_path))
    assert result.cpu_seconds == 1 + 10


def test_asking_workers_to_stop_keeps_what_is_done(tmp_path):
    found = study(tmp_path, seeds=3)
    done = []
    assert not found.carry_out(jobs=2, watch=done.append, stop=lambda: any(t.error is not None for t in done))
    assert found.missing
    assert found.carry_out(jobs=2) and not found.missing


def test_a_cell_that_fails_is_a_cell_with_its_error_and_the_others_go_on(tmp_path):
    found = Study({"base": BASE, "vary": {"rule": {**WRONG, **RULES}}}, out=tmp_path)
    assert found.carry_out(jobs=2)
    assert {r.cell for r in found.results} == {"mean", "median"}
    assert list(found.failed.values()) == [found.cells[0].error] and "krum needs" in found.cells[0].error


def test_a_worker_that_is_killed_takes_one_cell_with_it(tmp_path):
    (tmp_path / "deadly.py").write_text(
        "import os, signal\ndef kill(updates, weights=None):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "study.toml").write_text(
        'seeds = 2\n[base]\nrounds = 2\nsplit = { clients = 6 }\n[vary.rule]\n"mean" = {}\n'
        'deadly = { aggregation.name = "deadly:kill" }\nmedian = { aggregation.name = "median" }\n'
    )
    found = Study(tmp_path / "study.toml", out=tmp_path / "out")
    assert found.carry_out(jobs=2)
    assert {r.cell for r in found.results} == {"mean", "median"} and len(found.results) == 4
    assert len(found.failed) == 2 and all("killed" in error for error in found.failed.values())


def test_a_signal_to_the_whole_group_fails_no_cell(tmp_path):
    (tmp_path / "told.py").write_text(
        "import os, signal\ndef all_of_us(updates):\n    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return updates.mean(axis=0)\n"
    )
    (tmp_path / "study.toml").write_text(
        "[base]\nrounds = 2\nsplit = { clients = 6 }\n[vary.rule]\nmean = {}\n"
        'told = { aggregation.name = "told:all_of_us" }\n'
    )
    found = Study(tmp_path / "study.toml", out=tmp_path / "out")
    assert found.carry_out(jobs=2) and not found.failed and len(found.results) == 2


def test_a_number_of_ones_own_reads_the_run_as_any_run_and_goes_by_its_name(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def twice(run):\n    return 2.0 * run.facts['flocks'][-1] * len(run.flocks)\n"
    )
    (tmp_path / "study.toml").write_text(
        "[base]\nrounds = 1\nsplit = { clients = 4 }\n[vary.rule]\nmean = {}\n"
        '[show]\nnumbers = ["twice_the_flocks"]\n[numbers.twice_the_flocks]\nof = "mine:twice"\n'
    )
    found = Study(tmp_path / "study.toml", out=tmp_path / "out")
    assert found.carry_out(jobs=1) and not found.failed
    table = found.tables()[0]
    assert table.entries[0][0].mean == 2.0 and table.columns[0].title == "twice the flocks"


def test_common_beginnings_are_trained_once(tmp_path):
    counted: list[str] = []
    fork = {"at": "strategy.rounds_before", "before": {"strategy": {"name": "fedavg"}}}
    flic = {"strategy": {"name": "fl-hc", "rounds_before": 2}}
    file = {
        "base": {**BASE, "rounds": 6, **flic}, "fork": fork,
        "vary": {"strategy.rounds_before": [2, 3], "strategy.linkage": ["average", "complete"]},
    }  # fmt: skip
    found = Study(file, out=tmp_path / "forked")
    units = units_of(found.cells)
    assert len(units) == 1 and len(units[0]) == 4
    list(
        carry_out(
            units[0], Bench("forked", tmp_path / "forked"), watch=lambda c, told: counted.append(told.round)
        )
    )
    assert (
        len(counted) == 4 + 4 + 4 + 3 + 3
    )  # the beginning up to a round after the last fork, then each its own
    assert not found.missing and {r.forked_at for r in found.results} == {2, 3}
    plain = Study({**file, "fork": None}, out=tmp_path / "plain")
    plain.carry_out(jobs=1)
    assert {r.key: r.curves["accuracy"] for r in found.results} == {
        r.key: r.curves["accuracy"] for r in plain.results
    }


def test_cells_that_settle_to_the_same_share_the_rest(tmp_path):
    fork = {
        "at": "strategy.rounds_before",
        "before": {"strategy": {"name": "fedavg"}},
        "settled": "strategy.rounds_before + 1",
    }
    file = {
        "base": {**BASE, "rounds": 6, "strategy": {"name": "fl-hc", "rounds_before": 3, "flocks": 2}}, "fork": fork,
        "vary": {"strategy.linkage": ["average", "complete", "single"]},
    }  # fmt: skip
    found = Study(file, out=tmp_path)
    found.carry_out(jobs=1)
    assert len(found.results) == 3
    for result in found.results:
        twin = next((r for r in found.results if r.cell == result.twin), None)
        assert twin is None or (twin.curves == result.curves and twin.decided == result.decided)


def test_a_result_stands_while_its_config_means_the_same(tmp_path):
    found = study(tmp_path)
    found.carry_out(jobs=1)
    cell, result = found.cells[0], next(r for r in found.results if r.cell == found.cells[0].name)
    older = {**result.config, "strategy": {"name": "fedavg"}}
    older.pop("gate")  # as if written before there was such a section
    assert stands(replace(result, config=older), cell)
    assert not stands(replace(result, config={**result.config, "rounds": 5}), cell)
    assert not stands(replace(result, error="failed"), cell)
    assert not stands(replace(result, config={"strategy": {"name": "nobody knows this"}}), cell)


def test_files_that_are_no_results_are_passed_over(tmp_path):
    for name, text in {"a": "{", "b": "[]", "c": '{"what": 1}', "d": "null", "e": "[" * 100_000}.items():
        (tmp_path / f"{name}.json").write_text(text)
    assert list(results_in(tmp_path)) == []


def test_two_results_of_one_name_lie_side_by_side(tmp_path):
    found = study(tmp_path / "study")
    found.carry_out(jobs=1, cells=found.cells[:1])
    result = found.results[0]
    paths = [write_result(tmp_path / "more", replace(result, cell="../../evil\n"), "mark") for _ in range(3)]
    assert len(set(paths)) == 3 and all(path.parent == tmp_path / "more" for path in paths)
    assert read_result(paths[0]) == replace(result, cell="../../evil\n")


def test_a_study_whose_process_is_killed_goes_on(tmp_path):
    child = os.fork()
    if child == 0:
        found = study(tmp_path, seeds=4)

        def hit(told) -> None:
            if told.error is not None:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            found.carry_out(jobs=2, watch=hit)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    found = study(tmp_path, seeds=4)
    assert found.missing
    found.carry_out(jobs=2)
    assert not found.missing and len(found.results) == 8
