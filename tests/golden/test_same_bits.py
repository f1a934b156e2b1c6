"""The same bits as the commit that bits.json names, for every strategy and every choice it has."""

import json
import os
import shutil
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import flockwise
from flockwise.store import open_run
from tests.golden.digests import digests, machine
from tests.golden.scenarios import BASE, SCENARIOS

HERE = Path(__file__).parent
CHANGED = {  # what differs on purpose from the first file, since the commit that the later file names
    # Accuracy, worst client, spread and test loss count honest clients that were set apart: of facts alone.
    "bits-honest.json": "where honest clients are set apart",
    # Judges no longer condemn by what others report of themselves, and keep watching.
    "bits-judges.json": "where there is a judge",
    # Keeping the largest part of each split sets no majority apart.
    "bits-majority.json": "where split after split set a majority apart",
}


def file_of(name: str) -> Path:
    """The file that has the digests of a scenario: the first, unless it was changed on purpose; then the last change's."""
    later = [HERE / file for file in CHANGED if name in known(HERE / file)["runs"]]
    return later[-1] if later else HERE / "bits.json"


@cache
def known(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


SAME_MACHINE = (
    machine() == known(HERE / "bits.json")["machine"]
)  # elsewhere the last bits may differ, and only these
KILLED = ("fedavg", "fl-hc", "cfl", "byzantine-cfl", "flic", "communities", "ifca", "mini-fl", "custom")


def same(path: Path, name: str) -> None:
    file = file_of(name)
    found, recorded = digests(path), known(file)["runs"][name]
    if SAME_MACHINE:
        assert found == recorded
        return
    models = open_run(path).checkpoint()["models"]
    np.testing.assert_allclose(models, load_file(file.with_suffix(".safetensors"))[name], atol=2e-3)
    assert (found["labels"], found["apart"]) == (recorded["labels"], recorded["apart"])


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_gives_the_same_bits_as_ever(name: str, tmp_path: Path) -> None:
    flockwise.run(SCENARIOS[name], out=tmp_path / "run")
    same(tmp_path / "run", name)


@pytest.mark.parametrize("strategy", KILLED)
def test_a_killed_run_resumes_to_the_same_bits(strategy: str, tmp_path: Path) -> None:
    name = f"{strategy}, dropouts"
    child = os.fork()
    if child == 0:

        def die(progress: flockwise.Progress) -> None:
            if progress.round == 7:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            flockwise.run(SCENARIOS[name], out=tmp_path / "run", on_round=die)
        finally:
            os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert open_run(tmp_path / "run").state == "interrupted"
    flockwise.resume(tmp_path / "run")
    same(tmp_path / "run", name)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The run directories of an older release, where they may be written to."""
    return Path(shutil.copytree(HERE / "runs", tmp_path / "runs"))


@pytest.mark.parametrize("name", ["0.1-finished", "0.1-plain-finished"])
def test_an_old_finished_run_opens_and_reports(name: str, old: Path, tmp_path: Path) -> None:
    run = flockwise.open_run(old / name)
    assert run.state == "finished"
    assert digests(run.path) == known(HERE / "runs" / f"{name}.json")
    assert "flic" in run.report(tmp_path / "report.html").read_text()
    assert run.model(client=0) is not None


def test_an_old_stopped_run_resumes_to_where_the_finished_one_is(old: Path) -> None:
    flockwise.resume(old / "0.1-plain-stopped")
    found, recorded = digests(old / "0.1-plain-stopped"), known(HERE / "runs" / "0.1-plain-finished.json")
    if SAME_MACHINE:
        assert found == recorded
    assert found["labels"] == recorded["labels"]


def test_an_old_stopped_run_with_a_judge_resumes(old: Path) -> None:
    """Its judge is today's, so that it goes on otherwise than it would have: see CHANGED."""
    run = flockwise.resume(old / "0.1-stopped")
    assert (run.state, run.rounds.tolist()) == ("finished", list(range(1, 9)))


def test_an_old_run_forks(old: Path, tmp_path: Path) -> None:
    forked = flockwise.fork(
        old / "0.1-finished", 4, ["rounds=6", "aggregation.name=median"], out=tmp_path / "fork"
    )
    assert forked.rounds.tolist() == [1, 2, 3, 4, 5, 6]
    assert forked.config["aggregation"]["name"] == "median"


LATER = ("0.2", "format-3")  # run directories with the commit that made them (record_runs.py)


@pytest.mark.parametrize("name", LATER)
def test_a_run_of_each_later_format_opens_and_reports(name: str, old: Path, tmp_path: Path) -> None:
    run = flockwise.open_run(old / f"{name}-finished")
    assert (run.state, run.about["format"]) == ("finished", {"0.2": "2", "format-3": "3"}[name])
    assert digests(run.path) == known(HERE / "runs" / f"{name}.json")["digests"]
    assert "golden" in run.report(tmp_path / "report.html").read_text()
    assert run.model(client=0) is not None


@pytest.mark.parametrize("name", LATER)
def test_a_stopped_run_of_each_later_format_resumes_to_the_same_bits(name: str, old: Path) -> None:
    assert flockwise.open_run(old / f"{name}-stopped").rounds.tolist() == [1, 2, 3, 4, 5]
    flockwise.resume(old / f"{name}-stopped")
    found, recorded = digests(old / f"{name}-stopped"), known(HERE / "runs" / f"{name}.json")
    if machine() == recorded["machine"]:
        assert found == recorded["digests"]
    assert found["labels"] == recorded["digests"]["labels"]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("0.2", ["strategy.clustering=louvain"]),
        ("0.2", ["strategy.name=flic"]),
        ("format-3", ["strategy.flocks.name=fl-hc", "strategy.flocks.rounds_before=4"]),
        ("format-3", ["aggregation.name=median"]),
    ],
)
def test_a_run_of_each_later_format_forks(name: str, changes: list[str], old: Path, tmp_path: Path) -> None:
    forked = flockwise.fork(old / f"{name}-finished", 4, ["rounds=6", *changes], out=tmp_path / "fork")
    assert (forked.state, forked.rounds.tolist()) == ("finished", [1, 2, 3, 4, 5, 6])


def test_a_run_directory_names_the_commit_that_made_it() -> None:
    for name in LATER:
        assert len(known(HERE / "runs" / f"{name}.json")["commit"]) >= 7


def test_counting_all_honest_clients_changed_facts_alone() -> None:
    for name, now in known(HERE / "bits-honest.json")["runs"].items():
        before = known(HERE / "bits.json")["runs"][name]
        assert {key: now[key] for key in ("models", "labels", "apart")} == {
            key: before[key] for key in ("models", "labels", "apart")
        }
        pairs = zip(now["rounds"], before["rounds"], strict=True)
        assert all((a["arrays"], a["events"]) == (b["arrays"], b["events"]) for a, b in pairs)


def test_the_scenarios_pass_through_every_strategy() -> None:
    assert {config["strategy"]["name"] for config in SCENARIOS.values()} == set(KILLED)
    assert BASE["data"]["name"] == "digits"
