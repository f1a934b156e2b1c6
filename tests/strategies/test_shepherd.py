"""Shepherd, the method for those who know nothing: no honest client harmed, and little that attackers can do."""

import numpy as np
import pytest
from tests.strategies.playing import play

import flockwise as fw
from flockwise.config import parse_config

MIXED = {
    "iid": {"name": "iid", "clients": 16},
    "dirichlet": {"name": "dirichlet", "clients": 16, "alpha": 0.1},
    "pathological": {"name": "pathological", "clients": 16, "labels": 2},
    "label swap": {"name": "label_swap", "clients": 16, "groups": 2},
    "rotation": {"name": "rotation", "clients": 16, "groups": 4},
}
SHEPHERD = {"name": "shepherd"}


@pytest.mark.parametrize("kind", MIXED)
def test_without_attackers_nobody_is_set_apart(kind):
    game = play(rounds=20, split=MIXED[kind], strategy=SHEPHERD)
    assert not game.apart
    assert not game.events("alarm")
    assert game.mean_accuracy > 0.75


def test_flocks_are_found_without_their_number():
    game = play(rounds=15, split=MIXED["label swap"], strategy=SHEPHERD)
    assert game.ari == 1.0
    assert game.mean_accuracy > 0.9


@pytest.mark.parametrize(
    "attack",
    [{"name": "reverse", "scale": 5.0}, {"name": "sleeper"}, {"name": "imitator"}, {"name": "bridge", "scale": 5.0},
     {"name": "splitter"}, {"name": "takeover"}, {"name": "framer", "shame": 5.0}, {"name": "white-box"}],
    ids=lambda attack: attack["name"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["iid", "label swap"])
def test_a_fifth_of_attackers_that_know_the_defence_do_little(kind, attack):
    game = play(rounds=16, split=MIXED[kind], strategy=SHEPHERD, attack={**attack, "clients": 3})
    assert not game.apart - game.attackers  # no honest client
    assert game.mean_accuracy > 0.8


def test_newcomers_are_placed_and_clients_that_change_are_moved():
    game = play(
        rounds=30, split={"name": "label_swap", "clients": 16, "groups": 2}, strategy={**SHEPHERD, "follow": 0.1},
        faults={"late_clients": 2, "late_round": 14, "drift_clients": 2, "drift_round": 18},
    )  # fmt: skip
    assert not game.apart
    assert (game.labels >= 0).all()
    assert len(game.events("placed")) >= 2
    assert game.events("moved")


def test_turncoats_are_told_by_their_own_past_late_in_training():
    game = play(
        rounds=18, split=MIXED["label swap"], strategy=SHEPHERD,
        attack={"name": "reverse", "scale": 1.0, "clients": 3, "first_round": 13},
    )  # fmt: skip
    turned = {client for _, event in game.events("turned") for client in event.detail["clients"]}
    assert turned >= game.attackers
    assert not game.apart - game.attackers
    assert game.mean_accuracy > 0.85


def test_its_rule_is_the_mean_behind_adaptive_clipping_unless_another_is_named(tmp_path):
    own = parse_config({"strategy": SHEPHERD}).aggregation
    assert (own.name, own.attackers, [step.name for step in own.before]) == (
        "mean",
        0.3,
        ["adaptive-clipping"],
    )
    assert (
        parse_config({"strategy": SHEPHERD, "aggregation": {"attackers": 0.1}}).aggregation.attackers == 0.1
    )
    plain = parse_config({"strategy": SHEPHERD, "aggregation": {"name": "mean"}}).aggregation
    assert plain.attackers == 0 and not plain.before
    assert not parse_config({"strategy": SHEPHERD, "aggregation": {"before": []}}).aggregation.before
    assert not parse_config({"strategy": {"name": "flic"}}).aggregation.before
    said = parse_config({"strategy": SHEPHERD})
    assert parse_config(said.written()).aggregation == said.aggregation
    clients = fw.splits.iid(fw.data.digits(), clients=4, samples=30)
    run = fw.run(fw.shepherd(), clients, model=fw.models.softmax, rounds=2, out=tmp_path / "run")
    assert run.config["aggregation"]["before"] == [{"name": "adaptive-clipping"}]
    again = fw.run(run.config, out=tmp_path / "again")
    for name, array in run.checkpoint().items():
        assert np.array_equal(array, again.checkpoint()[name]), name


def test_clients_with_few_labels_are_served_by_their_own_models_and_newcomers_by_the_flocks(tmp_path):
    clients = fw.splits.pathological(fw.data.digits(), clients=12, labels=2, validation=0.2, seed=100)
    run, plain = (
        fw.run(
            method, clients, model=fw.models.softmax, training=fw.SGD(learning_rate=0.1), rounds=10, seed=100,
            out=tmp_path / method.name, evaluation={"every": 10},
        )
        for method in (fw.shepherd(), fw.fedavg())
    )  # fmt: skip
    assert run.facts["own_models"][-1] > 6
    assert run.facts["accuracy"][-1] > plain.facts["accuracy"][-1] + 0.02
    (event,) = [event for event in run.events if event.kind == "own"][-1:]
    own, joint = (
        np.concatenate([p.detach().numpy().ravel() for p in run.model(**which).parameters()])
        for which in ({"client": event.detail["clients"][0]}, {"flock": 0})
    )
    flock = run.checkpoint()["models"][0]
    assert np.array_equal(joint, flock) and not np.array_equal(own, flock)


def test_clients_of_one_kind_have_their_flocks_model():
    game = play(rounds=10, split=MIXED["iid"], strategy=SHEPHERD)
    own = [event.detail["clients"] for _, event in game.events("own")]
    assert len(own[-1] if own else []) <= 4
