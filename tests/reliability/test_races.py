"""Of several processes that want one run, exactly one gets it; a process that dies leaves nothing to clear away."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

from flockwise.errors import BusyError
from flockwise.store import files, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.conftest import Cases
from tests.reliability.made import make

RUNNERS = 4


def _want(path: Path, start: Any, told: Any, over: Any) -> None:
    start.wait()
    try:
        with reopen_run(path, CheckpointPolicy()):
            told.put(os.getpid())
            over.wait()
    except BusyError as error:
        told.put(str(error))


def test_of_several_that_start_at_once_exactly_one_writes(tmp_path: Path, cases: Cases) -> None:
    path, fork = make(tmp_path / "run"), multiprocessing.get_context("fork")
    for _ in range(cases.many(10)):
        start, told, over = fork.Barrier(RUNNERS), fork.Queue(), fork.Event()
        runners = [fork.Process(target=_want, args=(path, start, told, over)) for _ in range(RUNNERS)]
        for runner in runners:
            runner.start()
        said = [told.get(timeout=120) for _ in range(RUNNERS)]
        winners = [each for each in said if isinstance(each, int)]
        assert len(winners) == 1 and files.is_locked(path)
        assert all("is writing this run" in each for each in said if isinstance(each, str))
        over.set()
        for runner in runners:
            runner.join(60)
    assert open_run(path).damage == []


def _hold(path: Path, held: Any) -> None:
    with reopen_run(path, CheckpointPolicy()):
        held.set()
        signal.pause()


def test_the_lock_of_a_process_that_was_killed_needs_no_clearing_away(tmp_path: Path, cases: Cases) -> None:
    path, fork = make(tmp_path / "run"), multiprocessing.get_context("fork")
    for _ in range(cases.many(10)):
        held = fork.Event()
        holder = fork.Process(target=_hold, args=(path, held))
        holder.start()
        assert held.wait(60) and files.is_locked(path)
        os.kill(holder.pid or 0, signal.SIGKILL)
        holder.join(60)
        reopen_run(path, CheckpointPolicy()).close()
    assert open_run(path).damage == []
