import errno
import json
import os
import resource
import sqlite3
import time
from pathlib import Path

import numpy as np
import pytest

from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.rng import generator
from flockwise.store import accept, create_run, files, list_runs, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.conftest import Cases


def _write(path: Path, rounds: int = 4, **policy: object) -> None:
    with create_run(
        path, {"rounds": rounds, "none": None}, {"seed": 1}, CheckpointPolicy(every=1, **policy)
    ) as writer:
        for round in range(1, rounds + 1):
            state = {"round": np.array([round]), "models": np.full((1, 3), round, np.float32)}
            writer.commit(
                round, 0.5, {"accuracy": round / 10, "nothing": float("nan")}, {"flock": np.arange(3)},
                [Event("flocks", "found", None, {"sizes": np.array([1, 2])})], state,
            )  # fmt: skip
        writer.about(state="finished")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.state == "finished"
    assert run.rounds.tolist() == [1, 2, 3, 4]
    assert run.facts["accuracy"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert np.isnan(run.facts["nothing"]).all()
    assert run.array("flock")[1].shape == (4, 3)
    assert run.events[0].detail == {"sizes": [1, 2]}
    assert run.metrics.loc[2, "accuracy"] == 0.2
    assert run.config == {"rounds": 4}
    assert run.checkpoint()["models"][0, 0] == 4


def test_old_checkpoints_go_and_named_ones_stay(tmp_path: Path) -> None:
    _write(tmp_path / "run", rounds=8, keep=2, at=frozenset({3}))
    assert open_run(tmp_path / "run").checkpoints == [3, 7, 8]
    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 3


def test_a_bit_flipped_anywhere_in_a_checkpoint_is_noticed(tmp_path: Path, cases: Cases) -> None:
    _write(tmp_path / "run")
    path = sorted((tmp_path / "run" / "checkpoints").iterdir())[-1]
    whole = path.read_bytes()
    places = range(0, len(whole), 1 if cases.full else 7)
    cases.count(len(places))
    for position in places:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(bytes(damaged))
        with pytest.raises(RunError, match="damaged"):
            open_run(tmp_path / "run").checkpoint(4)


def test_a_checkpoint_cut_at_any_length_is_passed_over(tmp_path: Path, cases: Cases) -> None:
    _write(tmp_path / "run")
    path = sorted((tmp_path / "run" / "checkpoints").iterdir())[-1]
    whole = path.read_bytes()
    lengths = range(0, len(whole), 1 if cases.full else 11)
    cases.count(len(lengths))
    for length in lengths:
        path.write_bytes(whole[:length])
        with reopen_run(tmp_path / "run", CheckpointPolicy()):
            assert open_run(tmp_path / "run").checkpoints[-1] == 4
        assert open_run(tmp_path / "run").checkpoint(3)["models"][0, 0] == 3


def test_resuming_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    sorted((tmp_path / "run" / "checkpoints").iterdir())[-1].write_bytes(b"")
    newest = open_run(tmp_path / "run").newest_checkpoint()
    assert newest.round == 3 and [event.kind for event in newest.passed_over] == ["damaged"]
    with reopen_run(tmp_path / "run", CheckpointPolicy()) as writer:
        writer.forget_after(newest.round)
    assert open_run(tmp_path / "run").rounds.tolist() == [1, 2, 3]


def test_a_run_that_nobody_writes_is_interrupted(tmp_path: Path) -> None:
    with create_run(tmp_path / "run", {}, {}, CheckpointPolicy()) as writer:
        assert open_run(tmp_path / "run").state == "running"
        writer.close()
    assert open_run(tmp_path / "run").state == "interrupted"


def test_broken_and_newer_runs_are_said_to_be_so(tmp_path: Path) -> None:
    _write(tmp_path / "newer")
    database = sqlite3.connect(tmp_path / "newer" / "run.sqlite")
    database.execute("UPDATE about SET value = '99' WHERE key = 'format'")
    database.commit()
    database.close()
    _write(tmp_path / "broken")
    (tmp_path / "broken" / "run.sqlite").write_bytes(b"this is no database, just text that goes on" * 50)
    _write(tmp_path / "whole")
    found = {path.name: run for path, run in list_runs(tmp_path)}
    assert "newer Flockwise" in str(found["newer"])
    assert "cannot be read" in str(found["broken"])
    assert not isinstance(found["whole"], RunError)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC, errno.EINTR, errno.EDQUOT, errno.EROFS])
def test_every_file_operation_that_fails_leaves_the_old_content_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: Cases, number: int
) -> None:
    path, fails_at, clean = tmp_path / "file", 0, False
    path.write_bytes(b"old content")
    while not clean:
        fails_at += 1
        seen = 0

        def fail(name: str) -> None:
            nonlocal seen
            seen += 1
            if seen == fails_at:  # noqa: B023
                raise OSError(number, os.strerror(number))

        monkeypatch.setattr(files, "step", fail)
        try:
            files.write_atomically(path, b"new content")
            clean = True
        except OSError:
            assert path.read_bytes() in (b"old content", b"new content")
    cases.count(fails_at - 1)
    assert fails_at > 5
    assert path.read_bytes() == b"new content"


def test_a_write_that_the_system_cuts_short_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, cases: Cases
) -> None:
    """A limit on the size of files: what fits is written, and then no more, as on a disk that is full."""
    path, new = tmp_path / "file", bytes(range(256)) * 100
    path.write_bytes(b"old content")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in generator(0, "room").choice(len(new), size=cases.many(60, len(new)), replace=False).tolist():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, usual[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                files.write_atomically(path, new if room % 2 else (new[:9000], memoryview(new)[9000:]))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert path.read_bytes() == b"old content" and [each.name for each in tmp_path.iterdir()] == ["file"]


def test_the_auto_policy_spends_a_twentieth_of_the_time() -> None:
    policy = CheckpointPolicy()
    assert policy.due(1)
    policy.wrote(5.0)
    assert not policy.due(2)
    policy._last -= 90
    assert not policy.due(3)
    policy._last -= 10
    assert policy.due(4)


@pytest.mark.parametrize(("cost", "lost"), [(0.01, 0.2), (6.0, 120.0), (20.0, 120.0), (60.0, 300.0)])
def test_a_crash_costs_two_minutes_of_work_at_most_or_five_times_what_a_checkpoint_takes(
    cost: float, lost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 1000.0
    monkeypatch.setattr("time.perf_counter", lambda: clock)
    policy = CheckpointPolicy()
    policy.wrote(cost)
    for share in (0.5, 0.99, 1.01):
        clock = 1000.0 + share * lost
        assert policy.due(2) == (share > 1)


def test_environment_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    (tmp_path / "run" / "environment.json").write_text(json.dumps([1]))
    assert open_run(tmp_path / "run").environment == {}


def test_a_broken_run_does_not_hide_the_others(tmp_path: Path) -> None:
    _write(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.toml").write_text("rounds = [")
    found = dict(list_runs(tmp_path))
    assert isinstance(found[tmp_path / "bad"], RunError) and found[tmp_path / "good"].config == {"rounds": 4}


def test_checkpoints_that_cannot_be_opened_are_not_taken_for_lost(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    (tmp_path / "run" / "checkpoints").rename(tmp_path / "away")
    with pytest.raises(RunError, match="nothing was changed"):
        open_run(tmp_path / "run").newest_checkpoint()
    assert open_run(tmp_path / "run").rounds.tolist() == [1, 2, 3, 4]


def test_a_name_in_the_database_cannot_lead_out_of_the_run(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    (tmp_path / "victim.txt").write_text("mine")
    database = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    database.execute("UPDATE rounds SET checkpoint = '../../victim.txt' WHERE round = 3")
    database.commit()
    database.close()
    with pytest.raises(RunError, match="round 3"):
        reopen_run(tmp_path / "run", CheckpointPolicy(every=1, keep=1))
    accept(tmp_path / "run")
    with reopen_run(tmp_path / "run", CheckpointPolicy(every=1, keep=1)) as writer:
        writer.commit(5, 0.5, {}, {}, [], {"round": np.array([5])})
    assert (tmp_path / "victim.txt").read_text() == "mine"
    with pytest.raises(RunError, match="not the name of a checkpoint"):
        with_name = sqlite3.connect(tmp_path / "run" / "run.sqlite")
        with_name.execute("UPDATE rounds SET checkpoint = '../../victim.txt' WHERE round = 5")
        with_name.commit()
        with_name.close()
        open_run(tmp_path / "run").checkpoint(5)


def test_a_directory_without_a_config_holds_no_run(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    (tmp_path / "run" / "config.toml").unlink()  # as if it had died while it was being made
    _write(tmp_path / "run")
    with pytest.raises(RunError, match="already holds a run"):
        _write(tmp_path / "run")


def test_a_worker_does_not_keep_the_lock_of_a_dead_process(tmp_path: Path) -> None:
    import multiprocessing

    with files.lock(tmp_path):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,), daemon=True)
        child.start()
        assert files.is_locked(tmp_path)
    try:
        deadline = time.monotonic() + 20
        while files.is_locked(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.01)  # the child lets go as soon as it runs
        assert child.is_alive() and not files.is_locked(tmp_path)
    finally:
        child.kill()
        child.join()


def test_text_where_numbers_should_be_is_no_number(tmp_path: Path) -> None:
    _write(tmp_path / "run")
    database = sqlite3.connect(tmp_path / "run" / "run.sqlite")
    database.execute("UPDATE facts SET value = 'x' WHERE round = 2")
    database.execute("UPDATE rounds SET seconds = 'y' WHERE round = 2")
    database.commit()
    database.close()
    run = open_run(tmp_path / "run")
    assert np.isnan(run.facts["accuracy"][1]) and np.isnan(run.seconds[1])
