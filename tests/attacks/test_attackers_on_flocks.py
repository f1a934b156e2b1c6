"""Attackers that know how flocks are found: each does what it says to an undefended method on digits.

Beside each stands the same run with the attackers asleep, so that nothing but the attack differs.
"""

import numpy as np
import pytest
from tests.strategies.playing import play

import flockwise as fw
from flockwise.aggregation import RULES
from flockwise.attacks import ATTACKS, View
from flockwise.attacks.flocks import smaller_side
from flockwise.data import Federation
from flockwise.stages import FREE

FLIC = {"name": "flic", "warmup": 5}
SWAP = {"name": "label_swap", "clients": 20, "groups": 2}
IID = {"name": "iid", "clients": 20}
ON_FLOCKS = [
    "sleeper",
    "imitator",
    "bridge",
    "splitter",
    "takeover",
    "framer",
    "white-box",
    "insider",
    "drifter",
    "liar",
]


def both(attack, **sections):
    """With the attack, and with the same attackers asleep."""
    given = {"rounds": 12, "split": SWAP, "strategy": FLIC, **sections}
    asleep = play(**given, attack={**attack, "first_round": 99})
    return play(**given, attack=attack), asleep


def honest(game, values):
    return np.array([value for client, value in enumerate(values) if client not in game.attackers])


def test_a_sleeper_is_honest_until_flocks_are_found_and_then_ruins_its_own():
    awake, asleep = both({"name": "sleeper", "clients": 4})
    for now, then in zip(awake.records[:5], asleep.records[:5], strict=True):
        assert now.facts == then.facts  # not a bit differs before
    assert np.array_equal(awake.labels, asleep.labels)
    assert awake.mean_accuracy < asleep.mean_accuracy - 0.3


def test_imitators_are_all_in_one_flock_and_that_flock_is_ruined():
    awake, asleep = both({"name": "imitator", "clients": 4})
    entered = {int(awake.labels[client]) for client in awake.attackers}
    assert len(entered) == 1
    assert {int(asleep.labels[client]) for client in asleep.attackers} == {0, 1}  # they are of both kinds
    victims = [c for c in range(20) if c not in awake.attackers and int(awake.labels[c]) in entered]
    spared = [c for c in range(20) if c not in awake.attackers and int(awake.labels[c]) not in entered]
    assert np.mean(awake.accuracy[victims]) < 0.4 < 0.8 < np.mean(awake.accuracy[spared])


@pytest.mark.parametrize("strategy", [{"name": "fl-hc", "rounds_before": 4}, {"name": "cfl"}])
def test_a_bridge_makes_two_kinds_one_flock(strategy):
    awake, asleep = both({"name": "bridge", "clients": 4}, strategy=strategy)
    assert (asleep.server.state.flocks, awake.server.state.flocks) == (2, 1)
    assert awake.mean_accuracy < asleep.mean_accuracy - 0.1


def test_a_splitter_makes_two_flocks_of_clients_of_one_kind():
    awake, asleep = both({"name": "splitter", "clients": 4}, split=IID)
    assert (asleep.server.state.flocks, awake.server.state.flocks) == (1, 2)
    assert len(np.unique(honest(awake, awake.labels))) == 2


def test_a_takeover_outvotes_a_median_inside_a_flock_of_its_own():
    four = {"name": "label_swap", "clients": 16, "groups": 4}
    awake, asleep = both({"name": "takeover", "clients": 5}, split=four, aggregation={"name": "median"})
    flock = {int(awake.labels[client]) for client in awake.attackers}
    assert len(flock) == 1
    victims = [c for c in range(16) if c not in awake.attackers and int(awake.labels[c]) in flock]
    assert 0 < len(victims) < 5  # outvoted
    assert np.mean(awake.accuracy[victims]) < np.mean(asleep.accuracy[victims]) - 0.3


def test_framers_have_the_honest_majority_set_apart(tmp_path):
    """Nine clients of one kind and five of another; three of the nine side with the five."""
    even = fw.splits.label_swap(fw.data.digits(), clients=18, groups=2)
    kinds = even.groups
    chosen = [*np.flatnonzero(kinds == kinds[0]), *np.flatnonzero(kinds != kinds[0])[:5]]
    clients = Federation(even.dataset, tuple(even.shards[client] for client in chosen))
    apart = {}
    for first_round in (1, 99):
        attack = fw.attacks.framer(clients=[0, 1, 2], first_round=first_round)
        run = fw.run(
            fw.byzantine_cfl(), clients, model=fw.models.mlp, training=fw.SGD(epochs=3, learning_rate=0.1), rounds=12,
            attack=attack, seed=1, out=tmp_path / str(first_round),
        )  # fmt: skip
        apart[first_round] = set(np.flatnonzero(run.array("apart")[1][-1] != FREE).tolist())
    assert apart[99] == set(range(9, 14))  # the minority: by design of the method
    assert apart[1] == set(range(3, 9))  # the majority: by design of the attack


@pytest.mark.parametrize(
    "rule", ["mean", "median", "trimmed-mean", "multi-krum", "centered-clipping", "meamed", "dnc"]
)
def test_the_white_box_finds_what_harms_a_rule_more_than_other_attacks_do(rule):
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=200) + 0.8 * rng.normal(size=(20, 200))).astype(np.float32)
    options = {"radius": 10.0} if rule == "centered-clipping" else {}
    bound = RULES[rule](attackers=5, **options)

    def joint(updates):
        return bound(updates, np.ones(len(updates)), 20)[0]

    view = View(rows[:5], rows[5:], rule, {}, np.zeros(20, int), True, joint)
    mean = rows[5:].mean(axis=0)

    def progress(name, **given):
        sent = ATTACKS[name](**given).craft(view, np.random.default_rng(0))
        return float(joint(np.concatenate([sent, rows[5:]])) @ mean / (mean @ mean))

    searched = progress("white-box")
    assert searched < progress("reverse") - 0.01
    assert searched < progress("reverse", scale=10.0) + 1e-3
    assert searched < progress("gaussian", std=3.0) - 0.01


def test_the_white_box_ruins_what_turning_round_does_not():
    given = {"rounds": 5, "split": {"name": "iid", "clients": 12}, "strategy": {"name": "fedavg"}}
    searched = play(**given, attack={"name": "white-box", "clients": 3})
    turned = play(**given, attack={"name": "reverse", "clients": 3})
    assert searched.mean_accuracy < turned.mean_accuracy - 0.3


@pytest.mark.parametrize("name", ["min-max", "little-is-enough"])
def test_attacks_that_hide_in_the_spread_hide_in_that_of_their_flock(name):
    options = {"z": -3.0} if name == "little-is-enough" else {}
    awake, asleep = both({"name": name, "clients": 6, "knowledge": "groups", **options})
    assert awake.mean_accuracy < asleep.mean_accuracy - 0.03


@pytest.mark.parametrize("name", ON_FLOCKS)
def test_what_attackers_on_flocks_know_is_written_down(name):
    attack = ATTACKS[name]()
    assert "groups" in attack.knows
    assert ("all" in attack.knows) is (name not in ("sleeper", "liar"))
    assert ("course" in attack.knows) is (name in ("drifter", "insider"))
    assert ("defence" in attack.knows) is (name == "insider")
    assert ("rule" in attack.knows) is (name == "white-box")


def test_the_smaller_of_two_kinds_is_made_out():
    rng = np.random.default_rng(0)
    kinds = np.array([0] * 7 + [1] * 4)
    rows = (rng.standard_normal((2, 50))[kinds] + 0.2 * rng.standard_normal((11, 50))).astype(np.float32)
    assert smaller_side(rows).tolist() == (kinds == 1).tolist()
    assert smaller_side(rows[:1]).tolist() == [True]
    assert smaller_side(np.zeros((4, 3), np.float32)).any()


def test_the_white_box_is_told_what_the_rule_is_and_not_what_it_remembers():
    game = play(
        rounds=2, split=IID, strategy={"name": "fedavg"}, aggregation={"name": "foolsgold"},
        attack={"name": "white-box", "clients": 2},
    )  # fmt: skip
    assert np.isfinite(game.server.state.models).all()
    blind = View(
        np.ones((1, 3), np.float32), np.ones((2, 3), np.float32), groups=np.zeros(3, int), found=True
    )
    with pytest.raises(ValueError, match="needs the server's rule"):
        ATTACKS["white-box"]().craft(blind, np.random.default_rng(0))
