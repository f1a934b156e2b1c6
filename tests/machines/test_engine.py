"""The engine on a cluster, which a fake one stands in for: same bits, whoever dies when."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import flockwise as fw
from flockwise.engine import ClientWork
from flockwise.errors import EngineError
from flockwise.machines import RayEngine, engine, members, packing

from .fake_ray import FakeRay, RayTaskError
from .runs import assert_same_bits

BASE = {
    "rounds": 3,
    "split": {"name": "label_swap", "clients": 8, "groups": 2},
    "model": {"name": "mlp"},
    "training": {"epochs": 1, "batch_size": 20},
    "sampling": {"fraction": 0.7},
    "evaluation": {"every": 1},
    "engine": {"workers": 1},
}
KINDS: dict[str, dict[str, Any]] = {
    "flic, judged": {"strategy": {"name": "flic", "warmup": 1}},
    "ifca": {"strategy": {"name": "ifca"}},
    "soft": {"strategy": {"name": "fedsoft"}},
    "reports": {"strategy": {"name": "pacfl"}},
    "reports of latents": {"strategy": {"name": "flux"}},
    "personal": {"strategy": {"name": "ditto"}},
    "personal layers": {"strategy": {"name": "fedrep"}},
    "root": {"root": {"samples": 40}, "aggregation": {"name": "fltrust"}},
    "drift": {"faults": {"drift_round": 2, "drift_clients": 4}},
    "back door": {"attack": {"name": "backdoor", "clients": 2}},
}


@dataclass(frozen=True)
class On:
    """The opener of an engine on a fake cluster."""

    ray: FakeRay
    timeout: float = 3600.0

    def open(self, work: ClientWork, most_models: int) -> RayEngine:
        return RayEngine(self.ray, work, most_models, 1, self.timeout)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "LOOK", 0.0)
    monkeypatch.setattr(engine, "_PATIENCE", 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_are_those_of_one_machine_though_nodes_die_and_join(kind, tmp_path):
    config = {**BASE, **KINDS[kind]}
    here = fw.run(config, out=tmp_path / "here")
    cluster = FakeRay({"a": 1, "b": 1, "c": 1})

    def dies(node: str, method: str, calls: int) -> bool:
        if (node, method) == ("b", "train"):
            cluster.cores["d"] = 1  # and another joins
            return True
        return (node, method) == ("c", "test")

    cluster.dies = dies
    there = fw.run(config, out=tmp_path / "there", engine=On(cluster))
    assert_same_bits(here, there)
    assert {("b", "train"), ("c", "test"), ("d", "train")} <= set(cluster.calls)
    kinds = [event.kind for event in there.events]
    assert kinds.count("joined") == 4 and kinds.count("left") == 2


@pytest.mark.parametrize("kind", ["personal", "flic, judged"])
def test_a_run_goes_on_on_the_other_engine(kind, tmp_path):
    config = {**BASE, **KINDS[kind], "checkpoint": {"every": 1}}
    whole = fw.run(config, out=tmp_path / "whole")
    for name, first, second in (
        ("away", None, On(FakeRay({"a": 1, "b": 1}))),
        ("home", On(FakeRay({"a": 1})), None),
    ):
        stopped = fw.run(config, out=tmp_path / name, engine=first, stop=lambda: True)
        assert stopped.state == "stopped" and len(stopped.rounds) == 1
        assert_same_bits(whole, fw.resume(tmp_path / name, engine=second))


def test_objects_from_python_travel_once(tmp_path):
    rng = np.random.default_rng(0)
    data = [(rng.random((20, 6)).astype(np.float32), rng.integers(0, 2, 20)) for _ in range(5)]
    clients = fw.Federation.from_arrays(data)
    model = fw.models.build("mlp", (1, 1, 6), 2, seed=3)
    arguments: dict[str, Any] = {"model": model, "rounds": 2, "seed": 1}
    here = fw.run(fw.flic(warmup=1), clients, **arguments, out=tmp_path / "here")
    cluster = FakeRay({"a": 1, "b": 1})
    there = fw.run(fw.flic(warmup=1), clients, **arguments, out=tmp_path / "there", engine=On(cluster))
    assert_same_bits(here, there)


def test_only_news_of_what_clients_keep_is_sent(tmp_path, monkeypatch):
    sent: list[int] = []
    whole = RayEngine._held

    def noting(self: RayEngine, *arguments: Any) -> Any:
        held = whole(self, *arguments)
        sent.append(len(held[0]))
        return held

    monkeypatch.setattr(RayEngine, "_held", noting)
    config = {**BASE, **KINDS["personal"]}
    fw.run(config, out=tmp_path / "run", engine=On(FakeRay({"a": 1})))
    assert sent and not any(sent)  # one node makes all rows itself


def test_nobody_left_is_an_error_soon_and_the_run_can_go_on(tmp_path):
    config = {**BASE, "checkpoint": {"every": 1}}
    cluster = FakeRay({"a": 1, "b": 1})
    cluster.dies = lambda node, method, calls: method == "train" and calls > 4
    with pytest.raises(
        EngineError,
        match=r"round \d: no node of the Ray cluster can do the work: node 192.* died",
    ):
        fw.run(config, out=tmp_path / "run", engine=On(cluster))
    assert_same_bits(fw.run(config, out=tmp_path / "whole"), fw.resume(tmp_path / "run"))


def test_work_that_kills_every_node_is_given_up(tmp_path):
    cluster = FakeRay({"a": 1})

    def dies(node: str, method: str, calls: int) -> bool:
        if method == "train":
            cluster.cores[f"new {calls}"] = 1
        return method == "train"

    cluster.dies = dies
    with pytest.raises(
        EngineError, match=r"round 1: the same work lost 4 nodes; the last was node 192.0.2.1"
    ):
        fw.run(BASE, out=tmp_path / "run", engine=On(cluster))


def test_a_node_that_does_not_answer_is_left_out(tmp_path):
    cluster = FakeRay({"a": 1, "b": 1})
    answered, silent = cluster.wait, []

    def wait(refs: list[Any], num_returns: int, timeout: float) -> Any:
        if not silent and cluster.calls[-1][1] == "train":
            silent.append(refs[0])
        heard = [ref for ref in refs if ref not in silent]
        return answered(heard, num_returns, timeout) if heard else ([], refs)

    cluster.wait = wait  # type: ignore[method-assign]
    here = fw.run(BASE, out=tmp_path / "here")
    there = fw.run(BASE, out=tmp_path / "there", engine=On(cluster, timeout=0.05))
    assert_same_bits(here, there)
    assert any("no answer in 0.05 s" in event.message for event in there.events)


def test_a_failure_of_the_work_itself_is_one_line(tmp_path, monkeypatch):
    from flockwise.engine import LocalEngine

    def fails(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(LocalEngine, "train", fails)
    with pytest.raises(EngineError, match=r"^round 1: node 192.0.2.1 \(a\): ValueError: a bug$"):
        fw.run(BASE, out=tmp_path / "run", engine=On(FakeRay({"a": 1})))


def test_a_node_with_other_data_is_not_used(tmp_path, monkeypatch):
    made = packing.work_of

    def other(config: Any, *places: Any) -> ClientWork:
        return made(config.model_copy(update={"seed": config.seed + 1}), *places)

    monkeypatch.setattr(packing, "work_of", other)
    with pytest.raises(
        EngineError, match=r"node 192.0.2.1 .a.: its data are not those of this run; put the same files"
    ):
        fw.run(BASE, out=tmp_path / "run", engine=On(FakeRay({"a": 1})))


def test_a_node_that_trains_to_other_bits_is_told(tmp_path, monkeypatch):
    made = packing.work_of

    def other(config: Any, *places: Any) -> ClientWork:
        work = made(config, *places)
        return replace(work, recipe=replace(work.recipe, learning_rate=0.123))

    monkeypatch.setattr(packing, "work_of", other)
    run = fw.run(BASE, out=tmp_path / "run", engine=On(FakeRay({"a": 1})))
    told = [event.message for event in run.events if event.kind == "trainer"]
    assert told == [
        "node 192.0.2.1 (a): its processor or libraries train to other last digits than this machine's"
    ]


def test_what_a_node_cannot_read_is_its_own_line(tmp_path, monkeypatch):
    cluster = FakeRay({"a": 1})

    def unreadable(ref: object) -> None:
        raise RayTaskError

    monkeypatch.setattr(cluster, "get", unreadable)
    with pytest.raises(EngineError, match=r"can do the work: node 192.0.2.1 .a.: mine: no such module"):
        fw.run(BASE, out=tmp_path / "run", engine=On(cluster))


def test_a_cluster_without_cores_is_one_line(tmp_path):
    with pytest.raises(
        EngineError, match=r"^no node of the Ray cluster can do the work: there is none with a core"
    ):
        fw.run(BASE, out=tmp_path / "run", engine=On(FakeRay({"head": 0})))


def test_a_config_travels_as_text(tmp_path):
    orders: list[Any] = []
    cluster = FakeRay({"a": 1})
    remote = cluster.remote

    def noting(kind: type) -> Any:
        start = kind.start  # type: ignore[attr-defined]
        return remote(
            type(
                "Noting", (kind,), {"start": lambda self, *given: orders.append(given) or start(self, *given)}
            )
        )

    cluster.remote = noting  # type: ignore[method-assign]
    fw.run(BASE, out=tmp_path / "run", engine=On(cluster))
    source, objects, *_ = orders[0]
    assert objects is None and json.loads(source)["config"]["split"]["name"] == "label_swap"
