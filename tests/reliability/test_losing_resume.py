"""A process that finds a run taken leaves everything as it is."""

from pathlib import Path

import numpy as np
import pytest

from flockwise.errors import BusyError
from flockwise.store import create_run, files, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from tests.reliability.made import make


def test_a_losing_resume_leaves_the_checkpoint_that_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "run")
    lost = []

    def step(name: str) -> None:
        if name == "before rename" and not lost:
            with pytest.raises(BusyError):
                reopen_run(path, CheckpointPolicy())
            lost.append(name)

    with reopen_run(path, CheckpointPolicy(every=1)) as writer:
        monkeypatch.setattr(files, "step", step)
        writer.commit(6, 0.5, {}, {}, [], {"round": np.array([6]), "models": np.ones((1, 3), np.float32)})
    assert lost and open_run(path).checkpoint(6)["round"][0] == 6


def test_a_losing_start_touches_nothing(tmp_path: Path) -> None:
    path = make(tmp_path / "run")
    (path / "checkpoints" / ".left.tmp").write_text("left by a crash")
    (path / "run.sqlite").chmod(0o640)
    with files.lock(path):
        before = {file: file.stat() for file in path.rglob("*")}
        with pytest.raises(BusyError):
            reopen_run(path, CheckpointPolicy())
        after = {file: file.stat() for file in path.rglob("*")}
        assert {f: (s.st_mtime_ns, s.st_size, s.st_mode) for f, s in before.items()} == {
            f: (s.st_mtime_ns, s.st_size, s.st_mode) for f, s in after.items()
        }
    reopen_run(path, CheckpointPolicy()).close()
    assert not (path / "checkpoints" / ".left.tmp").exists()


def test_of_two_that_start_one_run_one_is_told(tmp_path: Path) -> None:
    with (
        create_run(tmp_path / "run", {}, {}, CheckpointPolicy()),
        pytest.raises(BusyError),
    ):
        (tmp_path / "run" / "config.toml").unlink()
        create_run(tmp_path / "run", {}, {}, CheckpointPolicy())
