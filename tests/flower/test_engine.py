"""Flower as the engine of a config: the same bits as the local engine, whatever happens to nodes."""

import json

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

import flockwise
from flockwise.config import parse_config
from flockwise.errors import ConfigError, EngineError
from flockwise.flower import FlowerGrid
from flockwise.flower.exchange import Exchange
from flockwise.flower.worker_app import worker_app

from .fake_grid import FakeGrid, FakeNode

BASE = {
    "seed": 3,
    "rounds": 4,
    "split": {"name": "label_swap", "clients": 7, "groups": 2},
    "model": {"name": "softmax"},
    "training": {"batch_size": 20},
    "sampling": {"fraction": 0.7},
    "engine": {"workers": 1, "path": "generic", "timeout": 5, "retries": 1},
    "checkpoint": {"every": 1},
}
STRATEGIES = {
    "flic": {"strategy": {"name": "flic", "warmup": 2}, "sampling": {"fraction": 1.0}},
    "ifca": {"strategy": {"name": "ifca", "flocks": 2}},
    "communities": {"strategy": {"name": "communities", "attribution": "wnn"}},
    "mini-fl": {"strategy": {"name": "mini-fl", "collect": 1}},
    "local": {"strategy": {"name": "local"}},
    "oracle": {"strategy": {"name": "oracle"}},
    "shepherd": {
        "strategy": {"name": "shepherd"}, "rounds": 6, "sampling": {"fraction": 1.0},
        "split": {"name": "pathological", "clients": 7, "labels": 2, "validation": 0.2},
    },
    "fine-tuned": {"strategy": {"name": "fine-tuned", "rounds_before": 2}},
    "fesem": {"strategy": {"name": "fesem"}},
    "pacfl": {"strategy": {"name": "pacfl", "angle": "ordered"}},
    "fedclust": {"strategy": {"name": "fedclust", "min_separation": 0.0}, "faults": {"late_clients": 2, "late_round": 3}},
    "stocfl": {"strategy": {"name": "stocfl"}},
    "cfl-gp": {"strategy": {"name": "cfl-gp", "every": 1}},
    "feddrift": {"strategy": {"name": "feddrift", "every": 2}},
    "flux": {"strategy": {"name": "flux", "warmup": 2}, "model": {"name": "mlp", "hidden": 9}},
    "attacked": {
        "strategy": {"name": "fedavg"}, "aggregation": {"name": "fltrust"}, "root": {"samples": 50},
        "attack": {"name": "reverse", "clients": 2},
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch):
    original = Exchange.__init__
    monkeypatch.setattr(
        Exchange,
        "__init__",
        lambda self, grid, pause=0.0: original(self, grid, pause, grid.clock, grid.sleep),
    )


def grid_for(config, nodes=3):
    text = json.dumps(parse_config(config).written())
    return FakeGrid([FakeNode(p, worker_app(text, "."), name=f"node-{p}") for p in range(nodes)])


def engine_on(grid):
    return FlowerGrid(grid, timeout=5, retries=1)


def on_flower(config, path, grid=None, **more):
    config = {**config, "engine": {**config["engine"], "name": "flower", "workers": 0}}
    return flockwise.run(config, out=path, engine=engine_on(grid or grid_for(config)), **more)


def assert_same(one, other):
    ours, theirs = one.checkpoint(), other.checkpoint()
    assert ours.keys() == theirs.keys()
    for name in ours:
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    np.testing.assert_array_equal(one.facts["accuracy"], other.facts["accuracy"])


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_kind_of_plan_gives_the_same_bits_as_the_local_engine(name, tmp_path):
    config = {**BASE, **STRATEGIES[name]}
    assert_same(flockwise.run(config, out=tmp_path / "local"), on_flower(config, tmp_path / "flower"))


def test_a_run_goes_on_with_other_nodes_to_the_same_bits(tmp_path):
    config = {**BASE, **STRATEGIES["flic"]}
    on_flower(config, tmp_path / "run", stop=lambda: True)
    resumed = flockwise.resume(tmp_path / "run", engine=engine_on(grid_for(config, nodes=2)))
    assert_same(flockwise.run(config, out=tmp_path / "local"), resumed)


def garbage(message, reply):
    return [Message(RecordDict({"results": ConfigRecord({"results": "not json"})}), reply_to=message)]


def other_clients(message, reply):
    """A node that answers for clients it was not given."""
    content = RecordDict({
        "arrays": ArrayRecord({str(c): Array(np.zeros(650, dtype=np.float32)) for c in range(7)}),
        "results": ConfigRecord({"results": json.dumps([[c, 10, 0, 0.0] for c in range(-1, 9)])}),
    })  # fmt: skip
    return [Message(content, reply_to=message)]


@pytest.mark.parametrize(
    ("fault", "kind", "lost"),
    [(lambda m, r: None, "late", True), (garbage, "rejected", True), (other_clients, None, False)],
)
def test_a_bad_node_costs_only_the_clients_it_was_given(fault, kind, lost, tmp_path):
    config = {**BASE, **STRATEGIES["flic"], "rounds": 1, "evaluation": {"every": 1}}
    grid = grid_for({**config, "engine": {**config["engine"], "name": "flower"}})
    grid.nodes[1].fault = lambda m, r: fault(m, r) if m.metadata.message_type == "train" else [r]
    found = on_flower(config, tmp_path / "run", grid)
    assert found.facts["participants"][0] == (5 if lost else 7)
    told = [event for event in found.events if event.kind in ("late", "rejected")]
    assert [event.kind for event in told] == ([kind] if lost else [])
    if lost:
        assert len(told[0].detail["clients"]) == 2


def test_when_no_node_answers_the_run_ends_and_can_go_on(tmp_path):
    config = {**BASE, **STRATEGIES["flic"]}
    grid = grid_for({**config, "engine": {**config["engine"], "name": "flower"}}, nodes=2)
    for node in grid.nodes:
        node.fault = lambda m, r: None if m.metadata.group_id == "3" else [r]
    with pytest.raises(EngineError, match="round 3: no node answered, 2 times; node 1: no answer within 5 s"):
        on_flower(config, tmp_path / "run", grid)
    failed = flockwise.open_run(tmp_path / "run")
    assert failed.state == "failed" and [event.kind for event in failed.events].count("late") == 4
    resumed = flockwise.resume(tmp_path / "run", engine=engine_on(grid_for(config)))
    assert_same(flockwise.run(config, out=tmp_path / "local"), resumed)


def test_objects_that_cannot_travel_are_refused(tmp_path):
    from torch import nn

    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    config = {**BASE, "engine": {**BASE["engine"], "name": "flower"}}
    with pytest.raises(ConfigError, match="by name"):
        flockwise.run(config, out=tmp_path / "run", model=module)
    with pytest.raises(ConfigError, match=r"model.name = 'own': Flower nodes need it by name"):
        flockwise.run(BASE, out=tmp_path / "run", model=module, engine=FlowerGrid(FakeGrid([])))


def test_nodes_keep_nothing_so_everything_must_travel(tmp_path):
    config = {**BASE, "model": {"name": "softmax", "travels": ["*.bias"]}}
    with pytest.raises(ConfigError, match=r"model.travels: a Flower node keeps nothing"):
        flockwise.run(config, out=tmp_path / "run", engine=FlowerGrid(FakeGrid([])))


def test_a_method_and_clients_of_python_run_on_nodes_if_a_config_can_name_them(tmp_path):
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=6, groups=2, seed=3)
    method = flockwise.flic(warmup=2, rule=flockwise.median())
    given = {"model": flockwise.models.softmax, "training": flockwise.SGD(batch_size=20), "rounds": 3}
    local = flockwise.run(method, clients, out=tmp_path / "local", **given)
    engine = engine_on(grid_for(local.config))
    assert_same(local, flockwise.run(method, clients, out=tmp_path / "there", engine=engine, **given))


def answering(text):
    def fault(message, reply):
        content = RecordDict({"arrays": ArrayRecord(), "results": ConfigRecord({"results": text})})
        return [Message(content, reply_to=message)]

    return fault


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        json.dumps([[c, 10, [[0.5]]] for c in range(7)]),
        json.dumps([[c, 10, [[0.5, 1.0, 2.0]]] for c in range(7)]),
        json.dumps([[float(c), 10, [[0.5, 1.0]]] for c in range(7)]),
        json.dumps([[c, 10, [[1e300, 1.0]]] for c in range(7)]),
        json.dumps([[c, 10, [[0.5, 10**400]]] for c in range(7)]),
        json.dumps([[c, 10, 0, 10**400] for c in range(7)]),
    ],
    ids=["deep", "one number", "three numbers", "float client", "accuracy 1e300", "endless loss", "endless training loss"],
)  # fmt: skip
def test_whatever_one_node_answers_the_run_goes_on(text, tmp_path):
    config = {**BASE, **STRATEGIES["flic"], "rounds": 2, "evaluation": {"every": 1}}
    grid = grid_for({**config, "engine": {**config["engine"], "name": "flower"}})
    grid.nodes[1].fault = answering(text)
    found = on_flower(config, tmp_path / "run", grid)
    assert found.state == "finished" and found.rounds.tolist() == [1, 2]
    assert any(event.kind == "rejected" for event in found.events)
    assert (found.facts["accuracy"] <= 1.0).all()
