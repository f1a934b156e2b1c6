"""Apps of Flower's older interface: a NumPyClient works as it is."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord, Context
from flwr.client import Client, NumPyClient
from flwr.clientapp import ClientApp

from flockwise.flower import Flocks, StoppedEarly
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode


class OldClient(NumPyClient):
    def __init__(self, partition):
        self.partition = partition

    def fit(self, parameters, config):
        x, y = apps.data(self.partition, "train")
        weights, bias = (array.copy() for array in parameters)
        for _ in range(5):
            error = apps.probabilities(weights, bias, x) - np.eye(apps.CLASSES)[y]
            weights -= config["lr"] * x.T @ error / len(y)
            bias -= config["lr"] * error.mean(axis=0)
        return [weights, bias], len(y), {"train_loss": 0.5}

    def evaluate(self, parameters, config):
        x, y = apps.data(self.partition, "validation")
        found = apps.probabilities(*parameters, x)
        loss = float(-np.log(found[np.arange(len(y)), y] + 1e-9).mean())
        return loss, len(y), {"accuracy": float((found.argmax(axis=1) == y).mean())}


def client_fn(context: Context):
    return OldClient(int(context.node_config["partition-id"])).to_client()


def start(path, app, first=None, **choices):
    grid = FakeGrid([FakeNode(p, app, name=f"site-{p}") for p in range(6)])
    flocks = Flocks(**{"strategy": "flic", "clients": 6, "run": path, "warmup": 3, **choices})
    first = first or apps.numpy_start()
    return grid, flocks.start(grid, first, num_rounds=6, timeout=5, train_config={"lr": 0.2})


def test_a_numpy_client_is_grouped_like_any_other(tmp_path):
    grid, result = start(tmp_path / "run", ClientApp(client_fn=client_fn))
    labels = [result.flock_of[f"site-{p}"] for p in range(6)]
    assert labels in ([0, 1] * 3, [1, 0] * 3)
    assert result.evaluate_metrics_clientapp[6]["accuracy"] > 0.8
    assert result.train_metrics_clientapp[6]["train_loss"] == 0.5
    found = open_run(tmp_path / "run")
    told = [event for event in found.events if event.kind == "legacy"]
    assert [(e.round, e.client) for e in told] == [(1, p) for p in range(6)]
    assert not [event for event in found.events if event.kind in ("dropout", "rejected")]
    # Only the first message to each client is sent twice.
    assert len(grid.sent) == 6 + 6 * (6 + 6) + sum(e.kind == "placed" for e in found.events)


def test_its_arrays_go_by_their_order_whatever_we_call_them(tmp_path):
    zeros = apps.numpy_start().to_numpy_ndarrays()
    named = ArrayRecord({"layer.weight": Array(zeros[0]), "layer.bias": Array(zeros[1])})
    _, result = start(tmp_path / "run", ClientApp(client_fn=client_fn), named)
    assert list(result.arrays) == ["layer.weight", "layer.bias"]
    assert result.evaluate_metrics_clientapp[6]["accuracy"] > 0.8


def test_one_client_cannot_talk_others_into_the_older_interface(tmp_path):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])
    grid.nodes[2].app = ClientApp(client_fn=client_fn)
    Flocks("fedavg", clients=4, run=tmp_path / "run").start(
        grid, apps.numpy_start(), num_rounds=2, timeout=5, train_config={"lr": 0.2}
    )
    found = open_run(tmp_path / "run")
    assert found.array("trained")[1].all()
    assert [event.client for event in found.events if event.kind == "legacy"] == [2]


class Unable(Client):
    """Answers, but cannot train."""


def test_an_app_that_cannot_train_ends_with_one_line_that_quotes_it(tmp_path):
    with pytest.raises(StoppedEarly) as found:
        start(tmp_path / "run", ClientApp(client_fn=lambda context: Unable()), retries=0)
    line = str(found.value)
    assert "\n" not in line and "its client says: Client does not implement `fit`" in line
    assert open_run(tmp_path / "run").state == "stopped" and not found.value.result.rounds


def test_a_client_app_without_a_train_function_is_quoted(tmp_path):
    with pytest.raises(StoppedEarly, match=r"nobody answered .*No train function registered"):
        start(tmp_path / "run", ClientApp(), retries=0)
