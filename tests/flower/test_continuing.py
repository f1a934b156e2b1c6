"""Next month on Flower: the same nodes by their keys, new ones, others gone; flock models and memory go on."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import ConfigRecord

import flockwise
from flockwise.errors import InputError, RunError
from flockwise.flower import Flocks
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode
from .test_engine import BASE, assert_same, engine_on, grid_for

RATE = ConfigRecord({"lr": 0.2})


def node(partition: int, kind: int | None = None) -> FakeNode:
    """A node with a key; its data are those of a partition of the kind (even or odd)."""
    made = FakeNode(partition, apps.numpy_app, name=f"site-{partition}")
    if kind is not None:
        made.context.node_config["partition-id"] = partition * 2 + kind
    return made


def month(path: Path, nodes: list[FakeNode], rounds: int, places: int, **more):
    flocks = Flocks("flic", clients=places, run=path, start_with=len(nodes), warmup=3, **more)
    return flocks.start(FakeGrid(nodes), apps.numpy_start(), num_rounds=rounds, train_config=RATE)


@pytest.fixture
def january(tmp_path: Path) -> Path:
    result = month(tmp_path / "january", [node(p) for p in range(6)], 6, 6)
    assert len(set(result.flock_of.values())) == 2
    return tmp_path / "january"


def test_nodes_are_known_again_newcomers_are_placed_and_who_changed_moves(
    january: Path, tmp_path: Path
) -> None:
    before = open_run(january).checkpoint()["labels"].tolist()
    files = {file: file.read_bytes() for file in sorted(january.rglob("*")) if file.is_file()}
    # site-0 is gone, site-1's data are of the even kind now, site-6 and site-7 are new
    nodes = [node(1, kind=0), *(node(p) for p in (2, 3, 4, 5, 7, 6))]
    result = month(tmp_path / "february", nodes, 3, 8, continues=january)
    even, odd = before[0], before[1]
    assert result.flock_of == {
        "site-0": even, "site-1": even, "site-2": even, "site-3": odd, "site-4": even, "site-5": odd, "site-6": even,
        "site-7": odd,
    }  # fmt: skip
    run = open_run(tmp_path / "february")
    assert run.rounds.tolist() == [6, 7, 8, 9] and result.rounds == 9
    told = {(event.kind, event.client) for event in run.events if event.round == 6}
    assert {("continued", None), ("joined", 6), ("joined", 7), ("moved", 1)} <= told
    (came,) = [event for event in run.events if event.kind == "continued"]
    assert came.message == "goes on from round 6 of january: 5 of 6 clients of before are here, 2 new"
    assert run.facts["accuracy"][0] > 0.8  # last month's models on this month's data, before any training
    assert {file: file.read_bytes() for file in files} == files  # the other run is only read
    assert run.environment["parent"] == str(january) and run.environment["continued_at"] == 6


def test_a_continuation_is_gone_on_with_like_any_run(january: Path, tmp_path: Path) -> None:
    nodes = [node(p) for p in range(7)]
    whole = month(tmp_path / "whole", nodes, 4, 8, continues=january)
    for rounds in (1, 2, 4):
        parts = month(tmp_path / "parts", [node(p) for p in range(7)], rounds, 8, continues=january)
    for one, other in zip(whole.models, parts.models, strict=True):
        for a, b in zip(one.to_numpy_ndarrays(), other.to_numpy_ndarrays(), strict=True):
            np.testing.assert_array_equal(a, b)
    march = month(tmp_path / "march", nodes, 1, 8, continues=tmp_path / "whole")
    assert march.rounds == 11


def test_one_that_was_stopped_before_it_had_begun_begins_again(
    january: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("flockwise.flower.continuing.begin", broken)
        month(tmp_path / "february", [node(p) for p in range(7)], 2, 8, continues=january)
    result = month(tmp_path / "february", [node(p) for p in range(7)], 2, 8, continues=january)
    whole = month(tmp_path / "whole", [node(p) for p in range(7)], 2, 8, continues=january)
    np.testing.assert_array_equal(result.arrays.to_numpy_ndarrays()[0], whole.arrays.to_numpy_ndarrays()[0])


def test_what_cannot_be_continued_is_one_line(january: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"clients = 5: .*january has 6"):
        month(tmp_path / "few", [node(0)], 1, 5, continues=january)
    with pytest.raises(RunError, match="nowhere: no run here"):
        month(tmp_path / "february", [node(0)], 1, 6, continues=tmp_path / "nowhere")
    month(tmp_path / "february", [node(p) for p in range(6)], 1, 6, continues=january)
    month(tmp_path / "other", [node(p) for p in range(6)], 1, 6)
    with pytest.raises(RunError, match=r"goes on from .*january, not from .*other; choose another directory"):
        month(tmp_path / "february", [node(0)], 1, 6, continues=tmp_path / "other")
    flockwise.run({"rounds": 1, "split": {"clients": 3}}, out=tmp_path / "local")
    with pytest.raises(RunError, match="was not made by a Flower app"):
        month(tmp_path / "from-local", [node(0)], 1, 6, continues=tmp_path / "local")


def test_a_config_goes_on_over_nodes_as_on_this_machine(tmp_path: Path) -> None:
    config = {**BASE, "rounds": 3, "strategy": {"name": "flic", "warmup": 2, "min_separation": 0.0}}
    flockwise.run(config, out=tmp_path / "january")
    clients = BASE["split"]["clients"] + 2
    more = [f"split.clients={clients}", "sampling.fraction=1"]
    local = flockwise.continue_run(tmp_path / "january", overrides=more, more=2, out=tmp_path / "local")
    february = {**config, "split": {**BASE["split"], "clients": clients}}
    nodes = engine_on(grid_for(february))
    there = flockwise.continue_run(
        tmp_path / "january", overrides=more, more=2, out=tmp_path / "flower", engine=nodes
    )
    assert_same(local, there)
    assert local.rounds.tolist() == there.rounds.tolist() == [3, 4, 5]
