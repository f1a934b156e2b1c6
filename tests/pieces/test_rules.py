"""Rules inside a flock, however small it is."""

import numpy as np
import pytest

from flockwise.config import parse_config
from flockwise.errors import PluginError
from flockwise.pieces.rules import BoundRule
from flockwise.simulation.assembly import bind_rule

LONG = np.full((1, 4), 100.0, np.float32)


def bound(name, strategy="flic", **parameters):
    section = {"name": name, **parameters}
    return bind_rule(
        parse_config({"strategy": {"name": strategy}, "aggregation": section, "root": {"samples": 50}}), None
    )


@pytest.mark.parametrize("name", ["norm-bound", "centered-clipping"])
def test_a_lone_client_is_bound_like_any_other(name):
    joint = bound(name, radius=1.0, **({"steps": 1} if name == "centered-clipping" else {}))(
        LONG, np.ones(1), 10
    )
    assert np.linalg.norm(joint) == pytest.approx(1.0, rel=1e-5)


def test_a_lone_client_that_contradicts_the_servers_own_data_moves_nothing():
    assert not bound("fltrust")(LONG, np.ones(1), 10, root=-LONG[0]).any()


@pytest.mark.parametrize(
    "name", ["mean", "median", "trimmed-mean", "krum", "multi-krum", "bulyan", "geometric-median"]
)
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
    rule = BoundRule(
        "mine:rule",
        lambda updates: np.full(updates.shape[1], returned) if np.isscalar(returned) else returned,
    )
    with pytest.raises(PluginError, match=f"mine:rule.*{words}"):
        rule(LONG, np.ones(1), 10)


@pytest.mark.parametrize("before, seen", [(["bucketing"], 4), ([{"name": "bucketing", "s": 3}], 3)])
def test_a_rule_gets_what_the_pieces_before_it_leave(before, seen, monkeypatch):
    counts = []
    rule = bound("median", before=before)
    monkeypatch.setitem(rule.__dict__, "call", lambda updates: counts.append(len(updates)) or updates[0])
    rule(np.eye(8, dtype=np.float32), np.ones(8), 8)
    assert counts == [seen]
