"""What a method asks clients to tell travels with their updates, and is held to its names and shapes."""

import json

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Array, ArrayRecord
from flwr.clientapp import ClientApp

import flockwise
from flockwise.config import parse_config
from flockwise.errors import ConfigError
from flockwise.flower import Flocks, FlowerGrid, RecordKeys
from flockwise.flower.worker_app import worker_app
from flockwise.stages import Method, Report, average, chain, sample, stage, train
from flockwise.stages.stage import REPLIES
from flockwise.store import open_run
from flockwise.strategies import MEAN

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode
from .test_engine import BASE, assert_same

STRATEGY = '''
import numpy as np
from flockwise.stages import Method, Report, average, chain, sample, stage, train
from flockwise.stages.stage import REPLIES


def note(round):
    told = np.full((round.state.clients, 10), np.nan)
    told[round.replies.clients] = round.replies.replies.reports["counts"]
    return round.noted(arrays={"told": told})


def count(x, y, classes):
    return {"counts": np.bincount(y, minlength=classes)}


def by_counts(*, rule) -> Method:
    """Notes how often clients have each label."""
    told = Report({"counts": (10,)}, count)
    return Method(chain(train(sample), stage("note", note, needs=[REPLIES]), average(rule)), report=told)
'''


def counts_of(partition):
    return np.bincount(apps.data(partition, "train")[1], minlength=apps.CLASSES)


def note(round):
    told = np.full((round.state.clients, apps.CLASSES), np.nan)
    told[round.replies.clients] = round.replies.replies.reports["counts"]
    return round.noted(arrays={"told": told})


ASKED = Report({"counts": (apps.CLASSES,)}, lambda x, y, classes: {})
NOTING = Method(chain(train(sample), stage("note", note, needs=[REPLIES]), average(MEAN)), report=ASKED)


def telling(told, key="report"):
    """A user's ClientApp whose train answer has a report besides."""
    app = ClientApp()

    @app.train()
    def trained(message, context):
        answer = apps.train_numpy(message, context)
        answer.content[key] = ArrayRecord(told(int(context.node_config["partition-id"])))
        return answer

    return app


def good(partition):
    return {"counts": Array(counts_of(partition))}


def run(path, bad=None, key="report", **more):
    nodes = [FakeNode(p, telling(bad if bad and p == 2 else good, key), name=f"site-{p}") for p in range(4)]
    flocks = Flocks(NOTING, clients=4, run=path, evaluate_every=0, **more)
    return flocks.start(FakeGrid(nodes), apps.numpy_start(), num_rounds=2, timeout=5)


def test_a_users_client_app_reports_by_a_further_record(tmp_path):
    assert run(tmp_path / "run").state == "finished"
    rounds, told = open_run(tmp_path / "run").array("told")
    assert rounds.tolist() == [1, 2]
    np.testing.assert_array_equal(told[1], [counts_of(p) for p in range(4)])


def test_the_record_may_be_called_otherwise(tmp_path):
    assert run(tmp_path / "run", key="labels", keys=RecordKeys(report="labels")).state == "finished"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda p: {}, "report holds [], must hold ['counts']"),
        (lambda p: {"count": Array(np.zeros(3))}, "report holds ['count'], must hold ['counts']"),
        (lambda p: {**good(p), "more": Array(np.zeros(3))}, "report holds ['counts', 'more']"),
        (lambda p: {"counts": Array(np.zeros(4))}, "'report counts' has shape (4,), not (3,)"),
        (lambda p: {"counts": Array(np.full(3, "x"))}, "'report counts' has dtype"),
        (lambda p: {"counts": Array("float64", (3,), "numpy.ndarray", b"junk")}, "is not a NumPy array"),
        (lambda p: {"counts": Array("float64", (3,), "numpy.ndarray", bytes(9999))}, "9999 bytes"),
        (lambda p: {"counts": Array(np.full(3, np.nan))}, "report 'counts' holds NaN or infinite"),
    ],
    ids=["nothing", "another name", "too much", "shape", "text", "junk", "far too long", "NaN"],
)
def test_a_malformed_report_costs_its_own_client_only_and_says_why(bad, words, tmp_path):
    assert run(tmp_path / "run", bad).state == "finished"
    found = open_run(tmp_path / "run")
    told = [event for event in found.events if event.kind == "rejected"]
    assert [(event.round, event.client) for event in told] == [(1, 2), (2, 2)]
    assert all(words in event.message for event in told)
    assert found.array("trained")[1].tolist() == [[True, True, False, True]] * 2


@pytest.fixture
def config(tmp_path):
    (tmp_path / "flower_told.py").write_text(STRATEGY)
    return {**BASE, "rounds": 2, "strategy": {"name": "flower_told:by_counts"}}


def grid_for(config, directory):
    text = json.dumps(parse_config(config, directory=directory).written())
    app = worker_app(text, str(directory))
    return FakeGrid([FakeNode(p, app, name=f"node-{p}") for p in range(3)])


def test_workers_report_what_the_local_engine_reports(config, tmp_path):
    local = flockwise.run(config, out=tmp_path / "local", directory=tmp_path)
    engine = FlowerGrid(grid_for(config, tmp_path), timeout=5)
    there = flockwise.run(config, out=tmp_path / "there", directory=tmp_path, engine=engine)
    assert_same(local, there)
    np.testing.assert_array_equal(local.array("told")[1], there.array("told")[1])
    assert np.nansum(local.array("told")[1]) > 0


def test_a_workers_malformed_report_costs_its_own_client_only(config, tmp_path):
    grid = grid_for(config, tmp_path)

    def cut(message, reply):
        if message.metadata.message_type == "train":
            first = next(iter(reply.content["report"]))
            reply.content["report"][first] = Array(np.zeros(3))
        return [reply]

    grid.nodes[0].fault = cut
    found = flockwise.run(
        config, out=tmp_path / "run", directory=tmp_path, engine=FlowerGrid(grid, timeout=5)
    )
    told = [event for event in found.events if event.kind == "rejected"]
    assert len(told) == 2 and all("has shape (3,), not (10,)" in event.message for event in told)
    assert all(event.client is not None for event in told)
    assert found.state == "finished"


def test_a_report_that_only_python_can_make_is_refused(tmp_path):
    clients = flockwise.splits.iid(flockwise.data.digits(), clients=4)
    engine = FlowerGrid(FakeGrid([]))
    with pytest.raises(ConfigError, match="it asks for reports, so Flower nodes need it by name"):
        flockwise.run(NOTING, clients, model=flockwise.models.softmax, engine=engine, out=tmp_path / "run")
