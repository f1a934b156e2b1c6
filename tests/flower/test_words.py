"""Where something of the user's goes unused or stands for something else, the run says so, once."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict

from flockwise.errors import InputError
from flockwise.flower import Flocks, RecordKeys
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode


def measuring(**metrics):
    """Evaluate answers with these metrics."""

    def fault(message, reply):
        if message.metadata.message_type == "train":
            return [reply]
        content = RecordDict({"metrics": MetricRecord({"num-examples": 60, **metrics})})
        return [Message(content, reply_to=message)]

    return fault


def run(path, fault=None, rounds=3, keys=None, **more):
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}", fault=fault) for p in range(3)])
    result = Flocks("fedavg", clients=3, run=path, keys=keys).start(
        grid, apps.numpy_start(), num_rounds=rounds, timeout=5, **more
    )
    return grid, result, open_run(path)


def told(record, kind):
    return [(event.round, event.message) for event in record.events if event.kind == kind]


def test_metrics_that_go_nowhere_are_told_once_by_name(tmp_path):
    _, _, record = run(tmp_path / "run", measuring(top1=0.5, accuracy=[0.1, 0.2], loss=0.3))
    ((round, message),) = told(record, "metrics")
    assert round == 1 and "'accuracy', 'top1'" in message and "RecordKeys" in message
    _, _, named = run(tmp_path / "named", measuring(top1=0.5), keys=RecordKeys(accuracy=["top1"]))
    assert told(named, "metrics") == [] and named.facts["accuracy"][-1] == 0.5


def test_a_loss_that_stands_in_for_an_accuracy_is_told_once(tmp_path):
    _, _, record = run(tmp_path / "run", measuring(loss=0.5))
    ((round, message),) = told(record, "stand-in")
    assert round == 1 and "exp(-loss)" in message
    assert record.facts["accuracy"][-1] == pytest.approx(np.exp(-0.5))
    _, _, whole = run(tmp_path / "whole")
    assert told(whole, "stand-in") == [] and told(whole, "metrics") == []


def test_settings_may_change_from_round_to_round(tmp_path):
    grid, _, _ = run(
        tmp_path / "run", train_config=lambda round: ConfigRecord({"lr": 0.1 / round}),
        evaluate_config=lambda round: None,
    )  # fmt: skip
    sent = {
        int(m.metadata.group_id): m.content["config"]["lr"]
        for m in grid.sent
        if m.metadata.message_type == "train"
    }
    assert sent == {1: 0.1, 2: 0.05, 3: 0.1 / 3}


@pytest.mark.parametrize(
    ("name", "ours"),
    [("fraction_train", "fraction="), ("min_train_nodes", "start_with="), ("min_available_nodes", "start_with="),
     ("train_metrics_aggr_fn", "means over clients"), ("evaluate_metrics_aggr_fn", "means over clients"),
     ("weighted_by_key", "RecordKeys(samples="), ("fraction_evaluate", "evaluate_every="),
     ("arrayrecord_key", "RecordKeys(arrays=")],
)  # fmt: skip
def test_an_option_of_flowers_own_strategies_is_answered_with_ours(name, ours, tmp_path):
    with pytest.raises(InputError) as refused:
        Flocks("flic", clients=3, run=tmp_path / "run", **{name: 2})
    assert str(refused.value).startswith(f"{name}: ") and ours in str(refused.value)


def test_every_option_of_flowers_fedavg_has_an_answer():
    import inspect

    from flwr.serverapp.strategy import FedAvg

    from flockwise.flower.setup import _FLOWERS_NAMES

    assert set(inspect.signature(FedAvg).parameters) <= set(_FLOWERS_NAMES)


def test_an_evaluate_fn_that_fails_is_told_and_does_not_end_the_run(tmp_path):
    def fails_once(round, arrays):
        if round == 2:
            raise ValueError("no such file: test.csv")
        return MetricRecord({"size": round})

    _, result, record = run(tmp_path / "run", evaluate_fn=fails_once)
    assert result.state == "finished" and set(result.evaluate_metrics_serverapp) == {1, 3}
    assert told(record, "unmeasured") == [(2, "evaluate_fn raised ValueError: no such file: test.csv")]


def test_arrays_without_dimensions_travel_as_they_are(tmp_path):
    from flwr.app import Array, ArrayRecord, Context
    from flwr.clientapp import ClientApp

    app, shapes = ClientApp(), set()

    @app.train()
    def train(message: Message, context: Context) -> Message:
        scale = message.content["arrays"]["scale"].numpy()
        shapes.add(scale.shape)
        arrays = ArrayRecord({"scale": Array(np.asarray(scale + 1))})
        return Message(
            RecordDict({"arrays": arrays, "m": MetricRecord({"num-examples": 1})}), reply_to=message
        )

    grid = FakeGrid([FakeNode(p, app) for p in range(2)])
    first = ArrayRecord({"scale": Array(np.array(1.5))})
    result = Flocks("fedavg", clients=2, run=tmp_path / "run", evaluate_every=0).start(grid, first, 2)
    assert shapes == {()} and result.arrays["scale"].numpy() == 3.5


def test_a_run_too_short_to_look_for_flocks_says_so(tmp_path, monkeypatch):
    from flockwise.flower import flocks as flocks_module
    from flockwise.flower import logs

    lines = []
    for module in (flocks_module, logs):
        monkeypatch.setattr(module, "log", lambda level, text, *parts: lines.append(text % parts))
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])
    Flocks("fl-hc", clients=3, run=tmp_path / "run").start(grid, apps.numpy_start(), num_rounds=2)
    words = "flocks are looked for after round 11, and the run ends with round 2"
    assert open_run(tmp_path / "run").about["note"] == words
    assert [words in line for line in lines].count(True) == 2  # at the beginning, and at the end


def test_whole_numbers_as_weights_are_rejected_with_the_reason(tmp_path):
    from flwr.app import Array, ArrayRecord

    def rounded(message, reply):
        if message.metadata.message_type == "train" and message.metadata.dst_node_id == 1002:
            arrays = {n: Array(a.numpy().astype(np.int32)) for n, a in reply.content["arrays"].items()}
            reply.content["arrays"] = ArrayRecord(arrays)
        return [reply]

    _, _, record = run(tmp_path / "run", rounded, rounds=1)
    ((_, message),) = told(record, "rejected")
    assert "has dtype int32, not floating point numbers" in message


def test_fewer_checkpoints_are_written_if_so_wished(tmp_path):
    def start(path, rounds, **more):
        grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])
        return Flocks("flic", clients=4, run=path, warmup=2, evaluate_every=0, **more).start(
            grid, apps.numpy_start(), num_rounds=rounds
        )

    start(tmp_path / "run", 7, checkpoint_every=3)
    assert open_run(tmp_path / "run").checkpoints == [6, 7]  # the last round always has one
    whole = start(tmp_path / "whole", 7)
    assert open_run(tmp_path / "whole").checkpoints == [6, 7]
    again = start(tmp_path / "run", 7, checkpoint_every=3)
    for one, other in zip(whole.models, again.models, strict=True):
        for a, b in zip(one.to_numpy_ndarrays(), other.to_numpy_ndarrays(), strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(InputError, match="checkpoint_every = 0: must be a number of at least 1"):
        Flocks("flic", clients=4, run=tmp_path / "x", checkpoint_every=0)


def test_rounds_without_a_checkpoint_are_asked_for_again_to_the_same_bits(tmp_path):
    def start(path, rounds, dies_in=None):
        def killed(round, arrays):
            if round == dies_in:
                raise KeyboardInterrupt
            return None

        grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(4)])
        flocks = Flocks("flic", clients=4, run=path, warmup=2, evaluate_every=0, checkpoint_every=4)
        return flocks.start(grid, apps.numpy_start(), num_rounds=rounds, evaluate_fn=killed)

    with pytest.raises(KeyboardInterrupt):
        start(tmp_path / "run", 8, dies_in=6)
    assert open_run(tmp_path / "run").checkpoints == [4]
    found, whole = start(tmp_path / "run", 8), start(tmp_path / "whole", 8)
    assert open_run(tmp_path / "run").rounds.tolist() == list(range(1, 9))
    np.testing.assert_array_equal(found.arrays.to_numpy_ndarrays()[0], whole.arrays.to_numpy_ndarrays()[0])


def test_a_memory_that_is_large_is_told_with_what_makes_it_cheaper(tmp_path, monkeypatch):
    from flockwise.flower import flocks as flocks_module

    lines = []
    monkeypatch.setattr(flocks_module, "_LARGE", 100)
    monkeypatch.setattr(flocks_module, "log", lambda level, text, *parts: lines.append(text % parts))
    grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])
    Flocks("flic", clients=3, run=tmp_path / "run", warmup=1).start(grid, apps.numpy_start(), num_rounds=1)
    assert any(
        "flic keeps what each client sent last: up to" in line and "checkpoint_every" in line
        for line in lines
    )
