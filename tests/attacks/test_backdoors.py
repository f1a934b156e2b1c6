"""Backdoors on digits: each works against the plain mean, and hardly costs honest clients any accuracy."""

import numpy as np
import pytest
import torch
from tests.strategies.playing import play
from torch import nn

import flockwise as fw
from flockwise.attacks import (
    ATTACKS,
    Goal,
    View,
    a3fl,
    constrain_and_scale,
    dba,
    edge_cases,
    model_replacement,
    neurotoxin,
    stamp,
    sybils,
)
from flockwise.attacks.dba import barred
from flockwise.engine.seen_model import Seen
from flockwise.errors import ConfigError, InputError

PLAIN = {"rounds": 12, "split": {"name": "iid", "clients": 10}, "strategy": {"name": "fedavg"}}
BACKDOORS = [
    {"name": "backdoor", "clients": 2},
    {"name": "model-replacement", "clients": 1},
    {"name": "dba", "clients": 4},
    {"name": "neurotoxin", "clients": 2},
    {"name": "edge-cases", "clients": 2},
    {"name": "edge-cases", "clients": 2, "kind": "turned", "source": 7, "target": 1},
    {"name": "a3fl", "clients": 2},
    {"name": "constrain-and-scale", "clients": 2},
    {"name": "sybils", "clients": 5},
]


def rng():
    return np.random.default_rng(0)


def outcome(attack, **more):
    """How often honest clients are fooled, and their accuracy."""
    game = play(**{**PLAIN, **more}, attack=attack)
    work, (models, rows) = game.parts.work, game.server.assignment()
    honest = [client for client in range(len(rows)) if client not in game.attackers]
    fooled = [work.fooled(client, PLAIN["rounds"], models[rows[client]]) for client in honest]
    return float(np.nanmean(fooled)), game.mean_accuracy


@pytest.mark.parametrize("attack", BACKDOORS, ids=lambda attack: f"{attack['name']}-{attack.get('kind', '')}")
def test_a_backdoor_works_and_is_not_noticed_in_the_accuracy(attack):
    fooled, accuracy = outcome(attack)
    asleep, clean = outcome({**attack, "first_round": 99})  # the same trigger, and nobody taught it
    assert fooled > asleep + 0.25
    assert accuracy > clean - 0.1


def test_scaling_replaces_the_model():
    quiet, _ = outcome({"name": "model-replacement", "clients": 1, "scale": 1.0})
    loud, _ = outcome({"name": "model-replacement", "clients": 1, "scale": 10.0})
    assert loud > quiet + 0.3


def test_parts_of_a_trigger_work_as_a_whole():
    """What four attackers teach in parts fools more together than any part alone."""
    attack = {"name": "dba", "clients": 4}
    game = play(**PLAIN, attack=attack)
    work, (models, rows) = game.parts.work, game.server.assignment()
    honest = [client for client in range(len(rows)) if client not in game.attackers]

    def fooled(bars):
        work.goal = Goal(0, lambda x: barred(x, bars, 3, 1))
        return np.mean([work.fooled(client, 12, models[rows[client]]) for client in honest])

    parts = [fooled((bar,)) for bar in range(4)]
    assert fooled(range(4)) > max(parts)


def test_the_success_of_a_backdoor_is_on_record_and_of_other_attacks_there_is_none(tmp_path):
    clients = fw.splits.iid(fw.data.digits(), clients=6, samples=40)
    for attack, known in ((fw.attacks.backdoor(clients=2), True), (fw.attacks.reverse(clients=2), False)):
        run = fw.run(
            fw.fedavg(), clients, model=fw.models.softmax, attack=attack, rounds=2, out=tmp_path / attack.name
        )
        assert ("attack_success" in run.facts) is known
        if known:
            assert 0 <= run.facts["attack_success"][-1] <= 1


def test_attackers_are_honest_before_their_first_round_with_data_attacks_too():
    early = play(**{**PLAIN, "rounds": 3}, attack={"name": "label-to", "clients": 4, "first_round": 3})
    never = play(**{**PLAIN, "rounds": 3}, attack={"name": "none"})
    work, client = early.parts.work, min(early.attackers)
    assert len(set(work.data(client, "train", 2)[1])) > 1
    assert set(work.data(client, "train", 3)[1]) == {0}
    assert np.array_equal(work.data(client, "train", 2)[1], never.parts.work.data(client, "train", 2)[1])


def test_a_goal_counts_only_samples_that_prove_something():
    x, y = np.zeros((4, 8, 8, 1), np.float32), np.array([0, 1, 2, 0])
    assert len(Goal(0, stamp).shown(x, y)) == 2
    assert len(Goal(0, stamp, source=2).shown(x, y)) == 1
    assert len(Goal(0, stamp, source=9).shown(x, y)) == 0
    assert (Goal(1, stamp).shown(x, y) == stamp(x[[0, 2, 3]])).all()


def view(own, others):
    return View(np.asarray(own, np.float32), np.asarray(others, np.float32))


def test_model_replacement_sends_its_update_many_times_as_long():
    own = rng().standard_normal((2, 5)).astype(np.float32)
    assert np.allclose(model_replacement(scale=7.0).craft(View(own), rng()), 7 * own)


def test_constrained_updates_have_the_angle_and_the_length_of_honest_ones():
    others = 1 + 0.2 * rng().standard_normal((6, 40))
    own = np.stack([-others.mean(axis=0), others[1], rng().standard_normal(40)])
    sent = constrain_and_scale(closeness=0.6).craft(view(own, others), rng()).astype(float)
    mean = others.mean(axis=0)
    cosines = sent @ mean / np.linalg.norm(sent, axis=1) / np.linalg.norm(mean)
    assert cosines.min() > 0.6 - 1e-3
    assert cosines[1] > 0.9
    assert np.allclose(np.linalg.norm(sent, axis=1), np.linalg.norm(others, axis=1).max(), rtol=1e-4)


def test_neurotoxin_leaves_alone_what_honest_clients_move_most():
    others = np.tile(np.arange(10.0), (3, 1))
    sent = neurotoxin(avoid=0.3).craft(view(np.ones((2, 10)), others), rng())
    assert sent.tolist() == [[1.0] * 7 + [0.0] * 3] * 2


def test_each_attacker_of_dba_has_its_own_bar():
    x, y = np.zeros((4, 8, 8, 1), np.float32), np.ones(4, np.int64)
    attack = dba(share=1.0)
    lit = [attack.of(n).poison(x, y, 10, rng())[0][0, :, :, 0] for n in range(5)]
    assert all(image.sum() == 3 for image in lit)
    assert sum(lit[:4]).max() == 1 and np.array_equal(lit[0], lit[4])
    assert np.array_equal(sum(lit[:4]), attack.goal.trigger(x)[0, :, :, 0])
    with pytest.raises(InputError, match="room for two bars"):
        dba(size=4).of(0).poison(x, y, 10, rng())


def test_edge_cases_are_made_of_the_source_class():
    x, y = rng().random((20, 8, 8, 1), dtype=np.float32), np.arange(20) % 4
    new_x, new_y = edge_cases(source=2, target=0, share=1.0).poison(x, y, 4, rng())
    assert np.array_equal(new_x[y == 2], 1 - x[y == 2]) and set(new_y[y == 2]) == {0}
    assert np.array_equal(new_x[y != 2], x[y != 2]) and np.array_equal(new_y[y != 2], y[y != 2])
    with pytest.raises(InputError, match="square"):
        edge_cases("turned", share=1.0).poison(x[:, :4], y, 4, rng())


def test_the_trigger_of_a3fl_speaks_for_the_target_and_stays_in_its_square():
    y = np.arange(60) % 3
    x = 0.1 * rng().random((60, 6, 6, 1)).astype(np.float32)
    x[y == 1, 1, 1] = 0.9  # this pixel is bright in class 1 alone
    module = nn.Sequential(nn.Flatten(), nn.Linear(36, 3))
    with torch.no_grad():
        module[1].weight.zero_()
        module[1].weight[1, 7] = 5.0
    poison, goal = a3fl(size=2, target=1).through(Seen(module), x, y, 3, rng())
    shown = goal.trigger(np.full((1, 6, 6, 1), 0.25, np.float32))[0, :, :, 0]
    assert shown[1, 1] == 1.0
    assert (shown[2:] == 0.25).all() and (shown[:, 2:] == 0.25).all()
    samples, labels = poison(x, y, 3, rng())
    assert (labels == 1).sum() > (y == 1).sum() and (samples != x).any()


def test_a3fl_follows_the_model_and_resumes_to_the_same_trigger():
    game = play(
        rounds=2, split=PLAIN["split"], strategy={"name": "fedavg"}, attack={"name": "a3fl", "clients": 2}
    )
    work = game.parts.work
    model = game.server.state.models[0]
    first, again = (work._seen.of(model)[1].trigger(np.zeros((1, 8, 8, 1), np.float32)) for _ in range(2))
    other = work._seen.of(-model)[1].trigger(np.zeros((1, 8, 8, 1), np.float32))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    ruined = work._seen.of(np.full_like(model, np.inf))[1].trigger(np.zeros((1, 8, 8, 1), np.float32))
    assert np.isfinite(ruined).all()


def test_a3fl_makes_the_same_trigger_in_every_process():
    given = {**PLAIN, "rounds": 2, "attack": {"name": "a3fl", "clients": 3}}
    one, two = (play(**given, engine={"workers": workers}).server.state.models for workers in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_sybils_send_one_update_in_disguise():
    own = rng().standard_normal((4, 1000)).astype(np.float32)
    sent = sybils(noise=0.1).craft(View(own), rng())
    mean = own.mean(axis=0)
    away = np.linalg.norm(sent - mean, axis=1) / np.linalg.norm(mean)
    assert np.allclose(away, 0.1, atol=1e-3) and len({row.tobytes() for row in sent}) == 4


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("sybils", {"source": 3, "target": 3}), ("edge-cases", {"source": 3, "target": 3}),
     ("model-replacement", {"scale": 0.0}),
     ("constrain-and-scale", {"closeness": 2.0}), ("neurotoxin", {"avoid": 1.0}), ("dba", {"size": 0})],
)  # fmt: skip
def test_impossible_options_are_refused(name, wrong):
    with pytest.raises((ConfigError, InputError), match=next(iter(wrong))):
        ATTACKS[name](**wrong)
