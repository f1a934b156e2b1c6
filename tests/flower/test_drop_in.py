"""Three lines put a strategy over ClientApps that are not ours."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import ConfigRecord, MetricRecord

import flockwise as fw
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.flower import Flocks, RecordKeys, Terms
from flockwise.flower import flocks as flocks_module
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode

APPS = {
    "numpy": (apps.numpy_app, apps.numpy_start),
    "torch": (apps.torch_app, apps.torch_start),
    "sklearn": (apps.sklearn_app, apps.sklearn_start),
}
TRUTH = [client % 2 for client in range(6)]


def grid_of(app, clients=6):
    return FakeGrid([FakeNode(p, app, name=f"site-{p}") for p in range(clients)])


def same_flocks(flock_of, truth=TRUTH):
    labels = [flock_of[f"site-{p}"] for p in range(len(truth))]
    pairs = {(a, b) for a, b in zip(labels, truth, strict=True)}
    return len(pairs) == len(set(labels)) == len(set(truth))


@pytest.mark.parametrize("kind", APPS)
@pytest.mark.parametrize(
    ("strategy", "options"),
    [("flic", {"warmup": 3}), ("communities", {})],
)
def test_flocks_are_found_over_any_framework(kind, strategy, options, tmp_path):
    app, start = APPS[kind]
    flocks = Flocks(strategy, clients=6, run=tmp_path / "run", **options)
    result = flocks.start(grid_of(app), start(), num_rounds=6, train_config=ConfigRecord({"lr": 0.2}))
    assert result.state == "finished" and result.rounds == 6
    assert same_flocks(result.flock_of)
    assert result.evaluate_metrics_clientapp[6]["accuracy"] > (0.3 if kind == "sklearn" else 0.8)
    assert open_run(tmp_path / "run").state == "finished"


def one_kind():
    """Nodes that all call their classes alike: those of even partitions."""
    return FakeGrid([FakeNode(2 * p, apps.numpy_app, name=f"site-{p}") for p in range(3)])


@pytest.mark.parametrize("optimizer", ["adam", "yogi", "adagrad", "momentum"])
def test_the_server_steps_with_an_optimiser_of_its_own_and_goes_on_with_it_after_a_stop(optimizer, tmp_path):
    def go(path, rounds, **options):
        flocks = Flocks("fedopt", clients=3, run=tmp_path / path, optimizer=optimizer, **options)
        return flocks.start(one_kind(), apps.numpy_start(), num_rounds=rounds)

    whole = go("whole", 8)
    assert whole.state == "finished" and whole.evaluate_metrics_clientapp[8]["accuracy"] > 0.8
    go("stopped", 3)
    again = go("stopped", 8)  # the optimiser's memory is on record
    other = go("other", 8, server_rate=0.011)
    for a, b, c in zip(*(each.arrays.to_numpy_ndarrays() for each in (whole, again, other)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_momentum_without_memory_is_plain_averaging(tmp_path):
    plain = Flocks("fedavg", clients=3, run=tmp_path / "plain").start(
        one_kind(), apps.numpy_start(), num_rounds=3
    )
    options = {"optimizer": "momentum", "server_rate": 1.0, "beta1": 0.0}
    flocks = Flocks("fedopt", clients=3, run=tmp_path / "momentum", **options)
    found = flocks.start(one_kind(), apps.numpy_start(), num_rounds=3)
    for a, b in zip(plain.arrays.to_numpy_ndarrays(), found.arrays.to_numpy_ndarrays(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_ifca_lets_clients_choose_by_evaluate_messages(kind, tmp_path):
    app, start = APPS[kind]
    flocks = Flocks("ifca", clients=6, run=tmp_path / "run", flocks=2, evaluate_every=0, seed=2)
    grid = grid_of(app)
    result = flocks.start(grid, start(), num_rounds=8, train_config=ConfigRecord({"lr": 0.2}))
    assert same_flocks(result.flock_of)
    kinds = [message.metadata.message_type for message in grid.sent]
    assert kinds.count("train") == 8 * 6 and kinds.count("evaluate") == 8 * 6 * 2


def test_every_client_gets_back_the_record_it_knows(tmp_path):
    grid = grid_of(apps.torch_app)
    Flocks("fedavg", clients=6, run=tmp_path / "run").start(
        grid, apps.torch_start(), num_rounds=2, train_config=ConfigRecord({"lr": 0.1})
    )
    first, last = grid.sent[0].content["arrays"], grid.sent[-1].content["arrays"]
    assert list(first) == list(last) == list(apps.torch_start())
    for name in first:
        assert (first[name].dtype, first[name].shape) == (last[name].dtype, last[name].shape)
    assert last["1.num_batches_tracked"].numpy() == 0
    assert grid.sent[0].content["config"]["server-round"] == 1 and grid.sent[0].content["config"]["lr"] == 0.1


def test_mini_fl_groups_by_the_registered_place(tmp_path):
    grid = grid_of(apps.numpy_app)
    for node in grid.nodes:
        node.location = f"50.0,{node.partition % 2 * 40 + node.partition / 10}"
    result = Flocks("mini-fl", clients=6, run=tmp_path / "run", collect=2).start(
        grid, apps.numpy_start(), num_rounds=4
    )
    assert same_flocks(result.flock_of)
    assert [row["address"] for row in open_run(tmp_path / "run").clients] == [n.location for n in grid.nodes]


def test_the_result_is_one_a_flower_app_can_use(tmp_path):
    seen = []

    def evaluate(server_round, arrays):
        seen.append(server_round)
        return MetricRecord({"size": len(arrays)})

    result = Flocks("flic", clients=6, run=tmp_path / "run", warmup=1).start(
        grid=grid_of(apps.numpy_app),
        initial_arrays=apps.numpy_start(),
        num_rounds=2,
        timeout=30,
        evaluate_fn=evaluate,
    )
    assert seen == [1, 2] and result.evaluate_metrics_serverapp[2]["size"] == 2
    assert result.arrays.to_numpy_ndarrays()[0].shape == (apps.FEATURES, apps.CLASSES)
    assert result.train_metrics_clientapp[1]["replies"] == 6
    assert len(result.models) == 2 and set(result.model_of) == set(result.flock_of)


def test_a_run_goes_on_where_it_was_and_ends_the_same(tmp_path):
    def run(path, rounds):
        flocks = Flocks("flic", clients=6, fraction=0.7, run=path, warmup=3)
        return flocks.start(grid_of(apps.numpy_app), apps.numpy_start(), num_rounds=rounds)

    whole = run(tmp_path / "whole", 6)
    for rounds in (1, 4, 6):
        parts = run(tmp_path / "parts", rounds)
    for one, other in zip(whole.models, parts.models, strict=True):
        for a, b in zip(one.to_numpy_ndarrays(), other.to_numpy_ndarrays(), strict=True):
            np.testing.assert_array_equal(a, b)
    assert run(tmp_path / "parts", 6).rounds == 6
    with pytest.raises(RunError, match="another strategy"):
        Flocks("fedavg", clients=6, fraction=0.7, run=tmp_path / "parts").start(
            grid_of(apps.numpy_app), apps.numpy_start(), num_rounds=7
        )


def test_mistakes_are_told_before_anything_waits_for_nodes(tmp_path):
    with pytest.raises(ConfigError, match="did you mean"):
        Flocks("flick", clients=3, run=tmp_path)
    with pytest.raises(ConfigError, match="warmupp"):
        Flocks("flic", clients=3, run=tmp_path, warmupp=3)
    with pytest.raises(ConfigError, match="needs clean data on the server"):
        Flocks("flic", clients=3, run=tmp_path, judge="root")


@pytest.mark.parametrize(
    "mistake, words",
    [({"clients": "2"}, "clients = '2': must be a whole number"), ({"retries": -1}, "retries = -1"),
     ({"start_timeout": "soon"}, "start_timeout = 'soon'"), ({"evaluate_every": True}, "evaluate_every = True"),
     ({"terms": {"loss": "x"}}, "must be RecordKeys"), ({"identity": "keys"}, "identity = 'keys'"),
     ({"aggregation": {"name": "krum", "atackers": 1}}, "aggregation.atackers = 1: unknown key")],
)  # fmt: skip
def test_a_wrong_value_is_named(mistake, words, tmp_path):
    with pytest.raises((InputError, ConfigError), match=words):
        Flocks("fedavg", **{"clients": 2, "run": tmp_path / "run", **mistake})


def test_a_finished_run_that_is_started_again_stays_finished_and_says_so(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(flocks_module, "log", lambda level, text, *parts: told.append(text % parts))
    for _ in range(2):
        grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(3)])
        Flocks("fedavg", clients=3, run=tmp_path / "run").start(
            grid, apps.numpy_start(), num_rounds=2, timeout=5
        )
        assert open_run(tmp_path / "run").state == "finished"
    assert "is finished (round 2 of 2), so nothing is trained" in told[-1]


def test_after_a_restart_an_absent_client_does_not_hold_up_the_others(tmp_path):
    for present, rounds in ((6, 2), (5, 4)):
        grid = FakeGrid([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(present)])
        flocks = Flocks("fedavg", clients=6, run=tmp_path / "run", start_timeout=1.0)
        result = flocks.start(grid, apps.numpy_start(), num_rounds=rounds, timeout=5)
    assert result.state == "finished" and result.rounds == 4


def test_a_method_does_what_its_strategy_does_by_name(tmp_path):
    def start(path, *what, **more):
        flocks = Flocks(*what, clients=6, run=tmp_path / path, evaluate_every=0, **more)
        return flocks.start(grid_of(apps.numpy_app), apps.numpy_start(), num_rounds=4)

    named = start("named", "flic", warmup=2, aggregation="median")
    made = start("made", fw.flic(warmup=2, rule=fw.median()))
    assert named.flock_of == made.flock_of and same_flocks(made.flock_of)
    one, other = (open_run(tmp_path / path) for path in ("named", "made"))
    for name, array in one.checkpoint().items():
        np.testing.assert_array_equal(array, other.checkpoint()[name])
    assert one.config == other.config
    with pytest.raises(RunError, match="another strategy"):
        start("made", fw.flic(warmup=3, rule=fw.median()))
    with pytest.raises(RunError, match="another aggregation"):
        start("made", fw.flic(warmup=2))


def test_a_method_has_its_options_already(tmp_path):
    with pytest.raises(InputError, match="warmup, aggregation: go with a strategy by name"):
        Flocks(fw.flic(), clients=3, run=tmp_path, warmup=3, aggregation="median")
    with pytest.raises(ConfigError, match="needs clean data on the server"):
        Flocks(fw.fedavg(rule=fw.fltrust()), clients=3, run=tmp_path)


def test_the_older_name_of_the_record_keys_still_works(tmp_path):
    keys = Terms(train_loss=["train_loss"])
    assert Terms is RecordKeys
    for number, words in enumerate(({"terms": keys}, {"keys": keys})):
        flocks = Flocks("fedavg", clients=2, run=tmp_path / str(number), evaluate_every=0, **words)
        assert flocks.start(grid_of(apps.numpy_app, 2), apps.numpy_start(), 1).state == "finished"


def test_what_clients_last_trained_on_outlives_a_restart(tmp_path):
    for rounds in (1, 1):
        Flocks("fedavg", clients=2, run=tmp_path / "run").start(
            grid_of(apps.numpy_app, 2), apps.numpy_start(), rounds
        )
    assert [row["train"] for row in open_run(tmp_path / "run").clients] == [60, 60]
