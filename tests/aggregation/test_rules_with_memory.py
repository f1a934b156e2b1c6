"""FoolsGold and FLDetector: what they remember, and what they make of it on digits."""

import numpy as np
import pytest
from tests.oracles import filtering_rules as oracle
from tests.strategies.playing import play

from flockwise.aggregation import fldetector, foolsgold
from flockwise.aggregation.fldetector import hessian_times_step, set_off
from flockwise.aggregation.history import History
from flockwise.errors import InputError


def test_a_history_keeps_the_row_of_whoever_is_away():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    memory = History.of({}, [4, 1], rows).followed_by(rows)
    assert memory["history_clients"].tolist() == [1, 4]
    later = History.of(memory, [7, 4], rows)
    assert later.seen.tolist() == [False, True]
    assert later.rows.tolist() == [[0, 0, 0], [0, 1, 2]]
    memory = later.followed_by(10 + rows)
    assert memory["history_clients"].tolist() == [1, 4, 7]
    assert memory["history"][0].tolist() == [3, 4, 5]


def test_a_history_of_other_clients_or_sizes_is_refused():
    rows = np.ones((2, 3), np.float32)
    with pytest.raises(InputError, match="each of them once"):
        History.of({}, [1, 1], rows)
    with pytest.raises(InputError, match="must be"):
        History.of({"history": np.ones((1, 2)), "history_clients": np.array([0])}, None, rows)


def test_foolsgold_gives_sybils_that_go_on_together_no_weight():
    rng = np.random.default_rng(0)
    memory = {}
    for _ in range(5):
        rows = rng.standard_normal((10, 300)).astype(np.float32)
        rows[:4] = 1 + 0.5 * rng.standard_normal((4, 300))
        joint, memory = foolsgold.function(rows, clients=np.arange(10), memory=memory)
    honest = rows[4:].mean(axis=0)
    assert np.abs(joint - honest).max() < 0.05


def test_foolsgold_trusts_nobody_where_all_are_the_same():
    assert not foolsgold.function(np.ones((5, 4), np.float32))[0].any()
    assert foolsgold.function(np.ones((1, 4), np.float32))[0].all()


def test_a_history_of_huge_updates_stays_a_number():
    rows = np.random.default_rng(1).standard_normal((5, 8)).astype(np.float32)
    rows[0] = 3e38
    memory = {}
    for _ in range(4):
        for rule in (foolsgold, fldetector):
            joint, _ = rule.function(rows, memory=memory)
            assert np.isfinite(joint).all()
        _, memory = foolsgold.function(rows, memory=memory)


def test_the_product_with_the_hessian_is_that_of_the_whole_matrix():
    rng = np.random.default_rng(3)
    curve = np.diag(rng.uniform(0.2, 0.6, 12))
    joints = [rng.standard_normal(12)]
    for _ in range(5):
        joints.append(joints[-1] - curve @ joints[-1] + 0.02 * rng.standard_normal(12))
    expected = oracle.hessian(joints) @ joints[-1]
    np.testing.assert_allclose(
        hessian_times_step(np.array(joints, np.float32)), expected, rtol=1e-3, atol=1e-3
    )
    assert not hessian_times_step(np.zeros((4, 3), np.float32)).any()


@pytest.mark.parametrize("seed", range(5))
def test_two_kinds_of_scores_are_told_apart_and_one_kind_is_not(seed):
    rng = np.random.default_rng(seed)
    scores = np.concatenate([rng.normal(0.1, 0.005, 4), rng.normal(0.04, 0.005, 16)])
    assert set_off(scores, seed).tolist() == [True] * 4 + [False] * 16
    assert not set_off(np.full(6, 0.2), seed).any()


def test_few_honest_sets_of_scores_are_parted():
    parted = [set_off(np.random.default_rng(seed).normal(0.05, 0.01, 20), seed).any() for seed in range(100)]
    assert np.mean(parted) < 0.35  # a gap statistic, not a proof


DIGITS = {
    "rounds": 12, "split": {"name": "iid", "clients": 10, "samples": 60}, "model": {"name": "softmax"},
    "training": {"epochs": 2, "batch_size": 20, "learning_rate": 0.1}, "strategy": {"name": "fedavg"},
}  # fmt: skip


def accuracy(rule, attack, **more):
    return play(**{**DIGITS, **more}, aggregation=rule, attack=attack).mean_accuracy


def test_fldetector_leaves_out_clients_that_send_noise():
    noise = {"name": "gaussian", "clients": 3, "std": 0.3}
    plain = accuracy({"name": "mean"}, noise)
    watched = accuracy({"name": "fldetector", "window": 3}, noise)
    assert watched > plain + 0.1


def test_foolsgold_keeps_sybils_out_where_honest_clients_differ():
    sybils = {"name": "label-to", "clients": 4, "label": 0}
    split = {"name": "pathological", "clients": 10, "labels": 2, "samples": 60}
    plain = accuracy({"name": "mean"}, sybils, split=split)
    guarded = accuracy({"name": "foolsgold"}, sybils, split=split)
    assert guarded > plain + 0.05


def test_a_rule_that_remembers_clients_says_what_it_holds_of_them():
    held = {
        "mean": play(**{**DIGITS, "rounds": 1}, aggregation={"name": "mean"}),
        "foolsgold": play(**{**DIGITS, "rounds": 1}, aggregation={"name": "foolsgold"}),
        "both": play(**{**DIGITS, "rounds": 1}, aggregation={"name": "foolsgold", "before": ["momentum"]}),
    }
    assert {name: game.server.method.round.holds.rows for name, game in held.items()} == {
        "mean": 0, "foolsgold": 1, "both": 2,
    }  # fmt: skip
