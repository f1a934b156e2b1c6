"""Mini-FL: the feature that shows the groups is found, and groups beat the plain rule under every attack."""

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.stages.by_origin import FEATURES

DEGREE = {"name": "noniid_degree", "clients": 20, "degree": 1.0}
QUICK = {"model": {"name": "softmax"}, "training": {"epochs": 2, "batch_size": 10, "learning_rate": 0.1}}
WOLVES = [0, 10, 1, 11, 2]  # the paper's Table 3
ATTACKS = {
    "reverse": {"name": "reverse", "scale": 100.0},
    "random": {"name": "random-update"},
    "partial drop": {"name": "partial-drop"},
    "little": {"name": "little-is-enough", "z": 1.035},
    "fall 1": {"name": "fall-of-empires", "z": 1.0},
    "fall 10": {"name": "fall-of-empires", "z": 10.0},
    "local": {"name": "local-model-poisoning"},
}


def accuracy(strategy, rule, attack):
    game = play(
        rounds=12, split=DEGREE, strategy={"name": strategy}, aggregation=rule,
        attack={**attack, "clients": WOLVES}, **QUICK,
    )  # fmt: skip
    return float(np.nanmean(game.accuracy))


@pytest.mark.parametrize("visible", FEATURES)
def test_the_right_feature_gives_the_right_groups(visible):
    game = play(rounds=3, split={**DEGREE, "visible": visible}, strategy={"name": "mini-fl"}, **QUICK)
    assert FEATURES[int(game.records[2].facts["feature"])] == visible
    assert game.ari == 1.0


@pytest.mark.parametrize("attack", list(ATTACKS))
@pytest.mark.parametrize("wolves", [WOLVES, [1, 2, 13, 15, 16], [0, 6, 12, 8, 14]], ids=str)
def test_attackers_do_not_decide_which_feature_gives_the_groups(wolves, attack):
    game = play(
        rounds=3,
        split=DEGREE,
        strategy={"name": "mini-fl"},
        attack={**ATTACKS[attack], "clients": wolves},
        **QUICK,
    )
    assert FEATURES[int(game.records[2].facts["feature"])] == "geo"


@pytest.mark.parametrize("attack", list(ATTACKS))
def test_the_median_in_groups_beats_the_plain_median(attack):
    plain = accuracy("fedavg", {"name": "median"}, ATTACKS[attack])
    grouped = accuracy("mini-fl", {"name": "median"}, ATTACKS[attack])
    assert grouped > plain + 0.1
    assert grouped > 0.75


@pytest.mark.parametrize("attack", ["reverse", "local"])
def test_krum_in_groups_beats_plain_krum(attack):
    rule = {"name": "krum", "attackers": 5}
    assert accuracy("mini-fl", rule, ATTACKS[attack]) > accuracy("fedavg", rule, ATTACKS[attack]) + 0.3


def test_the_model_waits_until_the_groups_are_known_and_is_one_for_all():
    game = play(rounds=2, split=DEGREE, strategy={"name": "mini-fl", "collect": 3}, **QUICK)
    start = play(rounds=1, split=DEGREE, strategy={"name": "mini-fl", "collect": 3}, **QUICK)
    assert game.server.state.models.tobytes() == start.server.state.models.tobytes()
    models, rows = play(rounds=5, split=DEGREE, strategy={"name": "mini-fl"}, **QUICK).server.assignment()
    assert len(models) == 1 and not rows.any()


@pytest.mark.parametrize("weights", ["equal", "size"])
def test_both_readings_of_the_group_weights_learn(weights):
    game = play(
        rounds=12, split=DEGREE, strategy={"name": "mini-fl", "group_weights": weights},
        aggregation={"name": "median"}, **QUICK,
    )  # fmt: skip
    assert game.mean_accuracy > 0.75


def test_groups_from_the_updates_instead_of_metadata():
    game = play(
        rounds=12, split=DEGREE, strategy={"name": "mini-fl", "groups_from": "updates"},
        aggregation={"name": "median"}, **QUICK,
    )  # fmt: skip
    assert game.ari == 1.0 and game.mean_accuracy > 0.7


def test_a_group_of_one_is_used_as_it_is():
    sizes = {**DEGREE, "clients": 9, "group_sizes": [4, 2, 1, 1, 1]}
    game = play(
        rounds=8,
        split=sizes,
        strategy={"name": "mini-fl"},
        aggregation={"name": "krum", "attackers": 2},
        **QUICK,
    )
    assert np.isfinite(game.server.state.models).all() and game.mean_accuracy > 0.3
