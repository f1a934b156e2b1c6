"""A copy of a run that is whole, also while the run goes on."""

import threading
from pathlib import Path

import numpy as np
import pytest

import flockwise as fw
from flockwise.errors import RunError
from flockwise.store import back_up, open_run

from ..runs.small import fingerprint, with_changes


def test_a_copy_of_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "run", rounds=4)
    back_up(tmp_path / "run", tmp_path / "copy")
    assert fingerprint(tmp_path / "copy") == fingerprint(tmp_path / "run")
    for path in ("run", "copy"):
        fw.resume(tmp_path / path, rounds=8)
    assert fingerprint(tmp_path / "copy") == fingerprint(tmp_path / "run")


def test_a_copy_can_be_made_in_any_round_of_a_run_that_goes_on(tmp_path: Path) -> None:
    def copied(progress: fw.Progress) -> None:
        back_up(progress.path, tmp_path / f"copy-{progress.round}")

    whole = fw.run(with_changes(), out=tmp_path / "run", on_round=copied)
    for round in (1, 5, 7):
        copy = open_run(tmp_path / f"copy-{round}")
        assert copy.rounds.tolist() == list(range(1, round + 1)) and copy.damage == []
        assert copy.state == "interrupted"
        done = fw.resume(tmp_path / f"copy-{round}")
        np.testing.assert_array_equal(done.checkpoint()["models"], whole.checkpoint()["models"])


def test_a_run_that_is_written_meanwhile_is_copied_whole(tmp_path: Path) -> None:
    over, found = threading.Event(), []

    def copy_again_and_again() -> None:
        while not over.wait(0.01) and len(found) < 50:
            if (tmp_path / "run" / "checkpoints" / "round-000002.safetensors").exists():
                copy = back_up(tmp_path / "run", tmp_path / f"copy-{len(found)}")
                found.append((len(open_run(copy).rounds), open_run(copy).damage))

    copier = threading.Thread(target=copy_again_and_again)
    copier.start()
    try:
        fw.run(with_changes(), out=tmp_path / "run", rounds=40)
    finally:
        over.set()
        copier.join()
    assert found and all(rounds >= 1 and damage == [] for rounds, damage in found)


def test_what_is_there_is_not_written_over_and_what_is_no_run_is_told(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "run", rounds=1)
    with pytest.raises(RunError, match="is there already"):
        back_up(tmp_path / "run", tmp_path)
    with pytest.raises(RunError):
        back_up(tmp_path / "nothing", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_damaged_checkpoint_is_not_taken_for_a_good_one(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "run", rounds=2)
    (tmp_path / "run" / "checkpoints" / "round-000002.safetensors").write_bytes(b"x")
    with pytest.raises(RunError, match="its checkpoints change faster"):
        back_up(tmp_path / "run", tmp_path / "copy")


def test_the_copy_is_for_its_owners_eyes_alone(tmp_path: Path) -> None:
    fw.run(with_changes(), out=tmp_path / "run", rounds=1)
    copy = back_up(tmp_path / "run", tmp_path / "copy")
    assert all(file.stat().st_mode & 0o077 == 0 for file in [copy, *copy.rglob("*")])
