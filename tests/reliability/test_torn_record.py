"""A power cut in the middle of a round's record: the run goes on from the last round that was written whole."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from flockwise.messages import Event
from flockwise.rng import generator
from flockwise.store import create_run, open_run, reopen_run
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.writer import RunWriter
from tests.conftest import Cases

ROUNDS = 5
EACH = 97  # of the cuts, so many in between are not only looked at, but gone on from


def commit(writer: RunWriter, round: int) -> None:
    """A round as any other."""
    writer.commit(
        round, 0.25, {"accuracy": round / 10}, {"flock": np.arange(6) % 2}, [Event("x", f"round {round}")],
        {"round": np.array([round]), "models": np.full((2, 3), round, np.float32)},
    )  # fmt: skip


@dataclass(frozen=True)
class Killed:
    """A run as a power cut leaves it: its rounds are in the write-ahead log alone; where in it each ends."""

    path: Path
    ends: list[int]

    def __post_init__(self) -> None:
        self.log.with_name("run.sqlite-shm").unlink(missing_ok=True)

    @property
    def log(self) -> Path:
        return self.path / "run.sqlite-wal"

    def cut(self, folder: Path, length: int) -> Path:
        """A copy of it, with so much of the log."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.path, folder)
        (folder / self.log.name).write_bytes(self.log.read_bytes()[:length])
        return folder


@pytest.fixture
def killed(tmp_path: Path) -> Killed:
    path, ends = tmp_path / "run", []
    with create_run(path, {"rounds": 9}, {"seed": 1}, CheckpointPolicy(every=1, keep=ROUNDS)) as writer:
        for round in range(1, ROUNDS + 1):
            commit(writer, round)
            ends.append((path / "run.sqlite-wal").stat().st_size)
        shutil.copytree(path, tmp_path / "killed")
    return Killed(tmp_path / "killed", ends)


def test_a_log_cut_at_any_byte_loses_no_round_that_was_closed_before(
    killed: Killed, tmp_path: Path, cases: Cases
) -> None:
    """Every byte of the last round's record in full; else some of it, and some of the rounds before."""
    last = range(killed.ends[-2], killed.ends[-1] + 1)
    random = generator(0, "cuts")
    some = cases.many(len(last) if cases.full else 60, len(last))
    drawn = random.choice(last, size=some, replace=False).tolist()
    before = random.integers(killed.ends[0], killed.ends[-2], cases.many(20)).tolist()
    for number, length in enumerate([*drawn, *before, killed.ends[-1]]):
        path = killed.cut(tmp_path / "cut", length)
        closed = sum(end <= length for end in killed.ends)
        found = open_run(path)
        rounds = found.rounds.tolist()
        assert rounds == list(range(1, len(rounds) + 1)) and len(rounds) >= closed, length
        assert found.damage == [] and len(rounds) <= closed + 1, length
        assert found.newest_checkpoint().round == len(rounds), length
        if number % EACH == 0:
            _goes_on(path, len(rounds))


def _goes_on(path: Path, rounds: int) -> None:
    with reopen_run(path, CheckpointPolicy(every=1)) as writer:
        writer.forget_after(rounds)
        commit(writer, rounds + 1)
    found = open_run(path)
    assert found.rounds.tolist() == list(range(1, rounds + 2)) and found.damage == []
    assert found.checkpoint()["models"][0, 0] == rounds + 1
