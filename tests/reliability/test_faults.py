"""A disk that fails is one line that names the file, and the run goes on afterwards."""

import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import flockwise
from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.rng import generator
from flockwise.store import create_run, files, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.conftest import Cases
from tests.reliability.made import make
from tests.runs.small import FLIC, fingerprint


class Failing(sqlite3.Connection):
    """A connection whose n-th call fails."""

    left = 0

    def _count(self) -> None:
        Failing.left -= 1
        if Failing.left == 0:
            raise sqlite3.OperationalError("disk I/O error")

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return super().executemany(*arguments)

    def executescript(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return super().executescript(*arguments)


def anomalies(
    monkeypatch: pytest.MonkeyPatch, work: Callable[[], object], check: Callable[[], object]
) -> int:
    """Let the 1st, 2nd, ... call of the database fail until the work passes; how many there are."""
    connect, number = sqlite3.connect, 0
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Failing))
    while True:
        number += 1
        Failing.left = number
        try:
            work()
        except RunError as error:
            assert "run.sqlite" in str(error) and "\n" not in str(error)
        else:
            if Failing.left > 0:
                Failing.left = 0
                return number - 1
        Failing.left = 0
        check()


def test_every_call_of_the_database_may_fail_while_a_round_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: Cases
) -> None:
    path = make(tmp_path / "run")

    def work() -> None:
        with reopen_run(path, CheckpointPolicy(every=1)) as writer:
            writer.forget_after(5)
            writer.about(state="running", goal="9")
            writer.commit(
                6,
                0.5,
                {"accuracy": 0.6},
                {"flock": np.arange(4)},
                [Event("x", "y")],
                {"round": np.array([6])},
            )
            writer.events(6, [Event("x", "y")])
            writer.add_events(6, [Event("x", "y")], lambda: {"round": np.array([6])})
            assert writer.any_participant() is False and writer.first_event("flocks")
            writer.about(state="finished")

    def check() -> None:
        run = open_run(path)
        assert run.damage == [] and run.rounds.tolist() in ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6])

    found = anomalies(monkeypatch, work, check)
    cases.count(found)
    assert found > 40


def test_every_call_of_the_database_may_fail_while_a_run_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: Cases
) -> None:
    made = iter(range(1000))

    def work() -> None:
        create_run(tmp_path / f"run {next(made)}", {"rounds": 1}, {}, CheckpointPolicy()).close()

    found = anomalies(monkeypatch, work, lambda: None)
    cases.count(found)
    assert found > 5


def test_every_call_of_the_database_may_fail_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: Cases
) -> None:
    path = make(tmp_path / "run")

    def work() -> None:
        run = open_run(path)
        _ = run.facts, run.events, run.clients, run.rounds, run.checkpoints
        run.array("flock")
        if run.damage:
            raise RunError(run.damage[0])

    found = anomalies(monkeypatch, work, lambda: None)
    cases.count(found)
    assert found > 20


@pytest.mark.parametrize("kind", ["before write", "inside write", "before fsync", "before rename"])
def test_a_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = make(tmp_path / "run")

    def fail(name: str) -> None:
        if name == kind:
            raise OSError(28, "No space left on device")

    with reopen_run(path, CheckpointPolicy(every=1)) as writer:
        monkeypatch.setattr(files, "step", fail)
        with pytest.raises(
            RunError, match=r"round-000006\.safetensors: cannot be written: No space left on device"
        ):
            writer.commit(6, 0.5, {}, {}, [], {"round": np.array([6])})
    assert not list((path / "checkpoints").glob(".*")), "a full disk is not filled with halves"
    assert open_run(path).rounds[-1] == 5 and open_run(path).damage == []


LONG = {**FLIC, "rounds": 60, "checkpoint": {"every": 1, "keep": 60}}


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A command, in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "flockwise", *words, "-q"], cwd=folder, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def told(error: str, name: str) -> None:
    """One line for a person, that names a file of this run."""
    assert error.startswith("error: ") and len(error.splitlines()) == 1 and name in error, error


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("whole") / "run"
    flockwise.run(LONG, out=path)
    return fingerprint(path)


def test_a_disk_that_is_full_is_told_and_the_run_goes_on_when_there_is_room(
    tmp_path: Path, cases: Cases, whole: str
) -> None:
    """Files may not grow any more from some round on, by as much as is drawn."""
    drawn = generator(0, "room").integers(1000, 60_000, 100).tolist()
    for number, room in enumerate([1000, 20_000, 60_000, *drawn][: cases.many(3)]):
        fill_up(tmp_path / f"{number}", room, whole)


def fill_up(folder: Path, room: int, whole: str) -> None:
    folder.mkdir()
    (folder / "c.toml").write_text(tomli_w.dumps(LONG))
    process = start(folder, "run", "c.toml", "--out", "run")
    while process.poll() is None and _rounds(folder / "run") < 3:
        time.sleep(0.005)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    _, error = process.communicate(timeout=300)
    assert process.returncode == 1
    told(error, "run/")
    assert open_run(folder / "run").damage == [] and len(open_run(folder / "run").rounds) >= 3
    assert flockwise.resume(folder / "run").state == "finished"
    assert fingerprint(folder / "run") == whole


def _rounds(path: Path) -> int:
    return len(open_run(path).rounds) if (path / "config.toml").exists() else 0


# A small disk of its own, in a name space in which everybody may mount one: filled, and then made larger.
SMALL_DISK = """
mount -t tmpfs -o size=$3k none disk || exit 77
cd disk
$2 -m flockwise run ../c.toml --out run -q 2> ../told
echo $? > ../code
cp -r run ../left
mount -o remount,size=64m "$1/disk" || exit 77
$2 -m flockwise resume run -q || exit 1
cp -r run ../run
"""


@pytest.mark.slow
def test_a_small_disk_that_fills_up_keeps_the_last_round_and_goes_on_when_it_grows(
    tmp_path: Path, cases: Cases, whole: str
) -> None:
    rooms = [2048, *generator(0, "small disks").integers(700, 2048, 100).tolist()]
    for number, room in enumerate(rooms[: cases.many(1)]):
        folder = tmp_path / str(number)
        (folder / "disk").mkdir(parents=True)
        # A model and a memory of it large enough that two megabytes do not hold the checkpoints of sixty rounds.
        (folder / "c.toml").write_text(tomli_w.dumps(LONG))
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", SMALL_DISK, "sh", str(folder), sys.executable, str(room)], cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 77 or "Operation not permitted" in done.stderr:
            pytest.skip("needs to mount a small disk: unshare -rm is not allowed here")
        assert done.returncode == 0, done.stderr
        assert (folder / "code").read_text().strip() == "1"
        told((folder / "told").read_text(), "run/")
        left = open_run(folder / "left")
        assert left.damage == [] and 1 <= len(left.rounds) < 60
        assert fingerprint(folder / "run") == whole


def test_a_second_interrupt_leaves_a_run_that_says_it_was_stopped(tmp_path: Path) -> None:
    def press(progress: flockwise.Progress) -> None:
        if progress.round == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flockwise.run(FLIC, out=tmp_path / "run", on_round=press)
    run = open_run(tmp_path / "run")
    assert run.state == "stopped" and run.damage == [] and run.rounds[-1] == 3
    assert flockwise.resume(tmp_path / "run").state == "finished"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(RunError, match="file"):
        create_run(tmp_path / "file" / "run", {}, {}, CheckpointPolicy())
    path = make(tmp_path / "run")
    (path / "run.sqlite").unlink()
    (path / "run.sqlite").mkdir()
    with pytest.raises(RunError, match=r"run\.sqlite"):
        reopen_run(path, CheckpointPolicy())
