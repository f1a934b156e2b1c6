"""A copy of a run is whole, whatever happens to the run while it is made, and can be gone on with."""

import stat
import threading
from pathlib import Path

import numpy as np
import pytest

import flockwise
from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import back_up, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.reliability.made import change, make
from tests.runs.small import FLIC, fingerprint


def test_a_copy_of_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    flockwise.run(FLIC, out=tmp_path / "whole")
    flockwise.run(FLIC, out=tmp_path / "run", stop=lambda: True)
    back_up(tmp_path / "run", tmp_path / "copy")
    assert open_run(tmp_path / "copy").damage == [] and open_run(tmp_path / "copy").state == "stopped"
    flockwise.resume(tmp_path / "copy")
    assert fingerprint(tmp_path / "copy") == fingerprint(tmp_path / "whole")
    assert open_run(tmp_path / "run").state == "stopped", "the run itself is only read"


def test_a_copy_is_whole_while_the_run_is_written(tmp_path: Path) -> None:
    path, done = make(tmp_path / "run"), threading.Event()

    def write() -> None:
        with reopen_run(path, CheckpointPolicy(every=1, keep=2)) as writer:
            for round in range(6, 80):
                state = {"round": np.array([round]), "models": np.full((2, 3), round, np.float32)}
                writer.commit(
                    round, 0.1, {"accuracy": 0.5}, {"flock": np.arange(4)}, [Event("x", "y")], state
                )
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    made = 0
    while not done.is_set() or not made:
        copy = back_up(path, tmp_path / f"copy {made}")
        found, made = open_run(copy), made + 1
        assert found.damage == []
        newest = found.newest_checkpoint()
        assert newest.round == found.rounds[-1] == newest.arrays["round"][0] and newest.passed_over == ()
    thread.join()


def test_nobody_else_may_read_a_copy(tmp_path: Path) -> None:
    copy = back_up(make(tmp_path / "run"), tmp_path / "copy")
    for path in (copy, *copy.rglob("*")):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


def test_what_cannot_be_copied_is_a_line(tmp_path: Path) -> None:
    path = make(tmp_path / "run")
    with pytest.raises(RunError, match="no run here"):
        back_up(tmp_path / "nothing", tmp_path / "copy")
    (tmp_path / "there").mkdir()
    with pytest.raises(RunError, match="is there already"):
        back_up(path, tmp_path / "there")
    change(path, "UPDATE facts SET value = 9 WHERE round = 3")
    with pytest.raises(RunError, match=r"the copy is damaged: .*round 3"):
        back_up(path, tmp_path / "copy")


def test_a_newest_checkpoint_that_is_gone_is_told(tmp_path: Path) -> None:
    path = make(tmp_path / "run")
    sorted((path / "checkpoints").iterdir())[-1].unlink()
    with pytest.raises(RunError, match="checkpoints change faster"):
        back_up(path, tmp_path / "copy")
