"""Rules inside a flock, however small it is."""

import numpy as np
import pytest

from flockwise.aggregation import RULES, Rule
from flockwise.aggregation.rule import as_rule
from flockwise.config import parse_config
from flockwise.config.resolving import rule_of
from flockwise.errors import PluginError

LONG = np.full((1, 4), 100.0, np.float32)


def bound(name, strategy="flic", **parameters):
    """The rule of a config as a function of updates alone."""
    section = {"name": name, **parameters}
    config = parse_config({"strategy": {"name": strategy}, "aggregation": section, "root": {"samples": 50}})
    rule = rule_of(config, None)
    return lambda updates, weights, everyone, **given: rule(updates, weights, everyone, **given)[0]


@pytest.mark.parametrize("name", ["norm-bound", "centered-clipping"])
def test_a_lone_client_is_bound_like_any_other(name):
    joint = bound(name, radius=1.0, **({"steps": 1} if name == "centered-clipping" else {}))(
        LONG, np.ones(1), 10
    )
    assert np.linalg.norm(joint) == pytest.approx(1.0, rel=1e-5)


def test_a_lone_client_that_contradicts_the_servers_own_data_moves_nothing():
    assert not bound("fltrust")(LONG, np.ones(1), 10, root=-LONG[0]).any()


@pytest.mark.parametrize("name", [name for name, piece in RULES.items() if piece.translates and piece.scales])
def test_a_lone_client_is_its_flocks_update_bit_for_bit(name):
    update = np.random.default_rng(0).normal(size=(1, 50)).astype(np.float32)
    assert bound(name)(update, np.array([7.0]), 10).tobytes() == update[0].tobytes()


@pytest.mark.parametrize("name", ["krum", "multi-krum"])
def test_of_two_clients_neither_wins(name):
    pair = np.array([[1.0, 1.0], [-1000.0, 9.0]], np.float32)
    assert bound(name, strategy="mini-fl")(pair, np.ones(2), 10).tolist() == [-499.5, 5.0]


def test_claimed_sample_counts_do_not_move_a_robust_rule():
    updates = np.random.default_rng(1).normal(1.0, 0.1, size=(20, 6)).astype(np.float32)
    updates[:4] = -50.0
    claimed = np.where(np.arange(20) < 4, 5.0, 1.0)
    rule = bound("geometric-median")
    assert np.array_equal(rule(updates, claimed, 20), rule(updates, np.ones(20), 20))
    assert not np.array_equal(bound("mean")(updates, claimed, 20), bound("mean")(updates, np.ones(20), 20))


@pytest.mark.parametrize(
    "returned, words", [(np.nan, "NaN or infinite"), (np.inf, "NaN or infinite"), ([[1.0]], "returned shape")]
)
def test_a_rule_that_returns_rubbish_is_named(returned, words):
    def rubbish(updates):
        return np.full(updates.shape[1], returned) if np.isscalar(returned) else returned

    rule = Rule(as_rule(rubbish, "mine:rule"))
    with pytest.raises(PluginError, match=f"mine:rule.*{words}"):
        rule(LONG, np.ones(1), 10)


@pytest.mark.parametrize("before, seen", [(["bucketing"], 4), ([{"name": "bucketing", "s": 3}], 3)])
def test_a_rule_gets_what_the_pieces_before_it_leave(before, seen):
    counts = []
    mine = as_rule(lambda updates: counts.append(len(updates)) or updates[0], "mine")
    mine(before=before)(np.eye(8, dtype=np.float32), np.ones(8), 8)
    assert counts == [seen]


def test_a_rule_is_given_its_share_of_the_expected_attackers_and_who_it_hears():
    told = {}

    def nosy(updates, f, clients, seed, root):
        told.update(f=f, clients=clients.tolist(), seed=seed, root=root)
        return updates[0]

    updates = np.ones((5, 2), np.float32)
    Rule(as_rule(nosy), attackers=4)(updates, np.ones(5), 10, round=3, seed=7, clients=np.arange(5))
    assert told == {"f": 2, "clients": [0, 1, 2, 3, 4], "seed": 10, "root": None}
    Rule(as_rule(nosy), attackers=0.4)(updates, np.ones(5), 10, clients=np.arange(5))
    assert told["f"] == 2
