"""The rows that every table has: alone, fine-tuned, and an upper bound that knows the groups."""

import numpy as np
import pytest
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.config import parse_config
from flockwise.errors import ConfigError
from flockwise.runs.assembly import assemble
from flockwise.stages import Method, average, chain, stage, train
from flockwise.strategies import MEAN, STRATEGIES

FEW = {"rounds": 6, "model": {"name": "softmax"}}


def trained_alone(parts, client, rounds):
    model = parts.work.first
    for round in range(1, rounds + 1):
        model = parts.work.train(client, round, model[None])[0]
    return model


def test_alone_every_client_has_what_it_trained_by_itself():
    game = play(**{**FEW, "rounds": 3}, strategy={"name": "local"})
    models, rows = game.server.assignment()
    assert game.labels.tolist() == list(range(12)) and rows.tolist() == list(range(12))
    for client in (0, 7):
        np.testing.assert_allclose(models[client], trained_alone(game.parts, client, 3), atol=1e-6)


def test_alone_a_client_that_is_not_drawn_keeps_its_model():
    games = [
        play(**{**FEW, "rounds": n}, strategy={"name": "local"}, sampling={"fraction": 0.5}) for n in (3, 4)
    ]
    before, after = (game.server.assignment()[0] for game in games)
    trained = games[1].records[3].arrays["trained"]
    assert trained.sum() == 6
    assert [bool((before[c] != after[c]).any()) for c in range(12)] == trained.tolist()


def test_a_released_client_goes_on_with_its_own_model():
    parts = assemble(parse_config({**BASE, **FEW, "strategy": {"name": "local"}}))
    server, engine = parts.server, parts.engine
    for _ in range(2):
        server.tell(engine.train(server.ask()))
    mine = server.assignment()[0][5].copy()
    server.quarantine(5)
    server.tell(engine.train(server.ask()))
    assert server.state.labels[5] == -1
    server.release(5)
    plan = server.ask()
    engine.close()
    assert plan.models[plan.offers[5][0]].tobytes() == mine.tobytes()


def test_fine_tuning_is_one_more_training_of_the_joint_model_by_each():
    joint = play(**{**FEW, "rounds": 3}, strategy={"name": "fedavg"})
    tuned = play(**{**FEW, "rounds": 4}, strategy={"name": "fine-tuned", "rounds_before": 3})
    models, rows = tuned.server.assignment()
    shared = joint.server.state.models[0]
    for client in range(12):
        own = tuned.parts.work.train(client, 4, shared[None])[0]
        np.testing.assert_allclose(models[rows[client]], own, atol=1e-6)
    assert tuned.server.state.models[0].tobytes() == shared.tobytes()
    assert tuned.mean_accuracy > joint.mean_accuracy, "swapped labels: one model cannot serve all"


def test_until_then_it_is_the_joint_method():
    joint = play(**{**FEW, "rounds": 3}, strategy={"name": "fedavg"})
    same = play(**{**FEW, "rounds": 3}, strategy={"name": "fine-tuned", "rounds_before": 3})
    assert same.server.state.models.tobytes() == joint.server.state.models.tobytes()
    assert len(same.server.assignment()[0]) == 1


def test_fine_tuning_inside_flocks_begins_from_the_flocks_model_and_keeps_the_flocks():
    flocks = {"name": "flic", "warmup": 5}
    game = play(rounds=8, strategy={"name": "fine-tuned", "rounds_before": 7, "flocks": flocks})
    joint = play(rounds=7, strategy=flocks)
    assert game.ari == joint.ari == 1.0
    models, rows = game.server.assignment()
    own = game.parts.work.train(2, 8, joint.server.state.models[joint.labels[2]][None])[0]
    np.testing.assert_allclose(models[rows[2]], own, atol=1e-6)


@pytest.mark.parametrize(
    ("flocks", "told"),
    [
        ({"warmup": 3}, "strategy.flocks.name = 'own': must be the name of a strategy, such as 'flic'"),
        ({"name": "flic", "warmup": -1}, "strategy.flocks.warmup = -1: must be at least 1"),
        ("flick", "strategy.flocks.name: strategies: no 'flick'; did you mean 'flic'?"),
    ],
)
def test_flocks_that_cannot_be_are_refused_in_one_line(flocks, told):
    with pytest.raises(ConfigError) as error:
        parse_config({**BASE, "strategy": {"name": "fine-tuned", "flocks": flocks}})
    assert told in str(error.value) and len(str(error.value).splitlines()) == 1


def test_flocks_may_be_a_method_made_in_python():
    made = flockwise.strategies.fine_tuned(rounds_before=3, flocks=flockwise.flic(warmup=2))
    assert made.options["flocks"]["name"] == "flic" and made.options["flocks"]["warmup"] == 2
    again = flockwise.strategies.fine_tuned(rounds_before=3, flocks=made.options["flocks"])
    assert again.options == made.options
    with pytest.raises(ConfigError, match="has the rule 'median'; give the rule to the method around it"):
        flockwise.strategies.fine_tuned(flocks=flockwise.flic(rule=flockwise.median()))


def test_the_oracle_has_the_groups_from_the_first_round_and_does_at_least_as_well():
    game = play(**FEW, strategy={"name": "oracle"})
    assert game.ari == 1.0 and [record.facts["flocks"] for record in game.records] == [3.0] * 6
    found = play(**FEW, strategy={"name": "flic", "warmup": 2})
    assert game.mean_accuracy > 0.85 and game.mean_accuracy >= found.mean_accuracy - 0.02


def test_the_oracle_knows_attackers_and_the_round_of_a_drift():
    attack = {"name": "reverse", "clients": [0, 3], "scale": 5.0}
    game = play(**FEW, strategy={"name": "oracle"}, attack=attack)
    homes = {int(game.labels[client]) for client in (0, 3)}
    assert homes.isdisjoint(np.delete(game.labels, [0, 3]).tolist()) and game.mean_accuracy > 0.8
    moved = play(**FEW, strategy={"name": "oracle"}, faults={"drift_clients": 2, "drift_round": 4})
    before, after = (moved.records[round - 1].arrays["flock"] for round in (3, 4))
    assert 1 <= np.sum(before != after) <= 2
    stayed = play(
        **{**FEW, "rounds": 3}, strategy={"name": "oracle"}, faults={"drift_clients": 2, "drift_round": 4}
    )
    plan = stayed.server.ask()
    for client in np.flatnonzero(before != after).tolist():
        model = plan.models[plan.offers[client][0]]
        assert model.tobytes() == stayed.server.state.models[after[client]].tobytes(), "takes nothing along"


def test_nobody_else_is_given_the_truth(tmp_path):
    seen = []

    def look(round):
        seen.append(round.setting.truth)
        return round

    spy = Method(chain(train(), stage("look", look), average(MEAN)))
    clients = flockwise.splits.label_swap(flockwise.data.digits(), clients=4, groups=2)
    engine, out = flockwise.Local(1), tmp_path / "run"
    flockwise.run(spy, clients, model=flockwise.models.softmax, rounds=1, engine=engine, out=out)
    assert seen == [None]
    assert [name for name, piece in STRATEGIES.items() if piece(**(piece.example or {})).reads_truth] == [
        "oracle"
    ]


def test_the_oracle_is_refused_where_nobody_knows_groups():
    with pytest.raises(
        ConfigError, match=r"^strategy.name = 'oracle': reads the split's groups, and this split knows none"
    ):
        play(**FEW, split={"name": "dirichlet", "clients": 4}, strategy={"name": "oracle"})


@pytest.mark.parametrize(
    "strategy", [{"name": "local"}, {"name": "oracle"}, {"name": "fine-tuned", "rounds_before": 2}]
)
def test_a_stopped_run_goes_on_to_the_same_bits(strategy, tmp_path):
    content = {
        **BASE,
        **FEW,
        "strategy": strategy,
        "rounds": 4,
        "sampling": {"fraction": 0.5},
        "checkpoint": {"every": 1},
    }
    whole = flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, False, True])
    flockwise.run(content, out=tmp_path / "run", stop=lambda: next(answers))
    again = flockwise.resume(tmp_path / "run")
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
    assert again.array("accuracy")[1].tobytes() == whole.array("accuracy")[1].tobytes()
    flockwise.load_model(again, client=3)
