"""Runs whose rounds are larger than memory is meant for: the updates of a round are on disk, and read in blocks."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.engine import local, scratch
from flockwise.errors import ConfigError, EngineError
from flockwise.kernels import columns, stored
from flockwise.runs import capacity
from tests.runs.small import FLIC, fingerprint, with_changes

PARAMETERS = 650
FEDAVG = {**FLIC, "strategy": {"name": "fedavg"}}
TRIMMED = with_changes(
    strategy={"name": "flic"}, evidence={"sketch": 64}, aggregation={"name": "trimmed-mean"}
)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two updates at once, blocks of one."""
    monkeypatch.setattr(local, "AT_ONCE", 2 * 4 * PARAMETERS)
    monkeypatch.setattr(local, "_PART", 4 * PARAMETERS)
    monkeypatch.setattr(stored, "BLOCK_BYTES", 4 * PARAMETERS)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_round_on_disk_gives_the_models_of_one_in_memory(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    whole = fw.run(TRIMMED, out=tmp_path / "memory")
    made: list[int] = []
    kept = scratch.Scratch.__init__
    monkeypatch.setattr(
        scratch.Scratch, "__init__", lambda self, *size: made.append(size[0]) or kept(self, *size)
    )
    request.getfixturevalue("little_memory")
    blocks = fw.run({**TRIMMED, "engine": {"workers": workers}}, out=tmp_path / "disk")
    assert len(made) == TRIMMED["rounds"]
    assert np.array_equal(whole.array_at("flock", 8), blocks.array_at("flock", 8))
    np.testing.assert_allclose(blocks.checkpoint()["models"], whole.checkpoint()["models"], atol=1e-6)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("calls", [3, 9])
def test_a_run_killed_while_a_round_is_read_goes_on_to_the_same_bits(calls: int, tmp_path: Path) -> None:
    fw.run(TRIMMED, out=tmp_path / "whole")
    child = os.fork()
    if child == 0:
        left, kept = calls, stored.by_columns

        def die(*given: Any) -> Any:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return kept(*given)

        columns.by_columns = die
        try:
            fw.run(TRIMMED, out=tmp_path / "killed")
        finally:
            os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert 0 < len(fw.open_run(tmp_path / "killed").rounds) < TRIMMED["rounds"]
    fw.resume(tmp_path / "killed")
    assert fingerprint(tmp_path / "killed") == fingerprint(tmp_path / "whole")


def _refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **sections: Any) -> str:
    monkeypatch.setattr(capacity, "free_memory", lambda: 8000)
    with pytest.raises(ConfigError) as refused:
        fw.run({**FEDAVG, **sections}, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (line,) = str(refused.value).splitlines()
    return line


def test_what_cannot_work_in_blocks_is_refused_before_the_run_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _refused(monkeypatch, tmp_path, aggregation={"name": "krum"})
    assert told.startswith("sampling.fraction = 0.5: the updates of 4 clients a round take 10.4 kB of memory")
    assert "aggregation.name = 'krum' needs all of them at once" in told
    told = _refused(monkeypatch, tmp_path, attack={"name": "reverse", "clients": 1})
    assert "attack.name = 'reverse' looks at all of them at once" in told


@pytest.mark.usefixtures("little_memory")
def test_what_works_in_blocks_is_not_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "free_memory", lambda: 8000)
    config = {**FEDAVG, "aggregation": {"name": "median"}, "rounds": 1}
    assert fw.run(config, out=tmp_path / "run").state == "finished"


def test_where_no_disk_has_room_memory_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "folder_for", lambda size: None)
    assert "no disk has room for them" in _refused(monkeypatch, tmp_path)


def test_a_file_system_in_memory_is_no_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    monkeypatch.setattr(scratch, "_MOUNTS", mounts)
    assert scratch.file_system(str(tmp_path)) == "tmpfs"
    assert scratch.file_system("/") == "ext4"
    monkeypatch.setattr(scratch.tempfile, "gettempdir", lambda: str(tmp_path))
    assert scratch.folder_for(1) == "/var/tmp"


def test_a_disk_that_fills_up_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: object) -> int:
        raise OSError(28, "No space left on device")

    made = scratch.Scratch(2, 10)
    monkeypatch.setattr(scratch.os, "pwrite", full)
    with pytest.raises(EngineError, match=r"the updates of a round cannot be written: .*No space left"):
        made.write([0], np.ones((1, 10), np.float32))
