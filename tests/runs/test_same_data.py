"""A run goes on with the data that it began with, or not at all."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import flockwise as fw
from flockwise.data.fingerprint import MARKS, fingerprints
from flockwise.errors import RunError
from flockwise.store import accept
from tests.runs.small import fingerprint


def month(seed: int, clients: int = 4, samples: int = 40) -> fw.Federation:
    rng = np.random.default_rng(seed)
    return fw.Federation.from_arrays(
        [(rng.normal(size=(samples, 5)).astype(np.float32), np.arange(samples) % 2) for _ in range(clients)]
    )


def january(tmp_path: Path) -> Path:
    return fw.run(
        fw.fedavg(), month(1), model=torch.nn.Linear(5, 2), rounds=3, out=tmp_path / "jan",
        checkpoint={"every": 1},
    ).path  # fmt: skip


def test_resume_with_the_same_data_goes_on(tmp_path: Path) -> None:
    path = january(tmp_path)
    again = fw.resume(path, clients=month(1), model=torch.nn.Linear(5, 2), rounds=4)
    assert again.rounds.tolist() == [1, 2, 3, 4]


def test_resume_with_other_data_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    path = january(tmp_path)
    before = fingerprint(path), sorted(file.name for file in (path / "checkpoints").iterdir())
    for other in (month(2), month(1, samples=50)):
        with pytest.raises(RunError, match=r"all clients have other data.*flockwise continue"):
            fw.resume(path, clients=other, model=torch.nn.Linear(5, 2), rounds=30)
    after = fingerprint(path), sorted(file.name for file in (path / "checkpoints").iterdir())
    assert before == after
    assert [row["train"] for row in fw.open_run(path).clients] == [36] * 4


def test_one_other_sample_of_one_client_is_noticed_and_the_client_named(tmp_path: Path) -> None:
    path, other = january(tmp_path), month(1)
    other.dataset.x[other.indices(2, "train")[0], 3] += 1
    with pytest.raises(RunError, match="client 2 has other data than when this run began"):
        fw.resume(path, clients=other, model=torch.nn.Linear(5, 2), rounds=4)


def test_fork_with_other_data_is_refused(tmp_path: Path) -> None:
    path = january(tmp_path)
    with pytest.raises(RunError, match="all clients have other data"):
        fw.fork(path, 3, ["rounds=5"], clients=month(2), model=torch.nn.Linear(5, 2), out=tmp_path / "fork")
    assert not (tmp_path / "fork").exists()
    fw.fork(path, 3, ["rounds=5"], clients=month(1), model=torch.nn.Linear(5, 2), out=tmp_path / "fork")


def test_a_run_of_an_older_release_is_held_to_how_much_each_client_had(tmp_path: Path) -> None:
    path = january(tmp_path)
    about = json.loads((path / "environment.json").read_text())
    del about[MARKS]
    (path / "environment.json").write_text(json.dumps(about))
    accept(path)
    with pytest.raises(RunError, match="all clients have other data"):
        fw.resume(path, clients=month(1, samples=50), model=torch.nn.Linear(5, 2), rounds=4)
    assert fw.resume(path, clients=month(1), model=torch.nn.Linear(5, 2), rounds=4).state == "finished"


def test_a_client_that_sees_its_data_otherwise_has_other_data() -> None:
    plain = fw.splits.iid(fw.data.digits(), clients=4, seed=1)
    marks = fingerprints(plain)
    assert len(set(marks)) == 4 and marks == fingerprints(plain)
    swap = (1, 0, *range(2, 10))
    for other in (replace(plain.shards[1], turns=1), replace(plain.shards[1], relabel=swap)):
        changed = replace(plain, shards=(plain.shards[0], other, *plain.shards[2:]))
        assert [one == two for one, two in zip(marks, fingerprints(changed), strict=True)] == [
            True, False, True, True,
        ]  # fmt: skip


def test_arrays_of_objects_are_read_by_what_they_hold() -> None:
    one, other = month(1), month(1)
    for federation in (one, other):
        held = np.empty(len(federation.dataset.x), dtype=object)
        held[:] = [np.array(row) for row in federation.dataset.x]
        object.__setattr__(federation.dataset, "x", held)
    assert fingerprints(one) == fingerprints(other)
    other.dataset.x[0][0] += 1
    assert fingerprints(one) != fingerprints(other)
