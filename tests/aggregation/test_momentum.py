"""Momentum before a rule: a step with a memory, kept with the rule's own."""

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.aggregation import bucketing, foolsgold, mean, median, momentum
from flockwise.errors import ConfigError

ROWS = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


def test_momentum_is_a_moving_average_of_each_client():
    memory, expected = {}, ROWS[0].astype(float)
    for rows in ROWS:
        moved, memory = momentum.function(rows, clients=[3, 1, 4, 2], memory=memory, beta=0.6)
        expected = 0.6 * expected + 0.4 * rows if rows is not ROWS[0] else expected
        np.testing.assert_allclose(moved, expected, atol=1e-6)


def test_a_step_and_the_rule_behind_it_each_keep_their_own_memory():
    rule = foolsgold(before=[momentum(beta=0.5)])
    memory, steps, own = {}, {}, {}
    for rows in ROWS:
        joint, memory = rule(rows, np.ones(4), 4, clients=np.arange(4), memory=memory)
        moved, steps = momentum.function(rows, clients=np.arange(4), memory=steps, beta=0.5)
        alone, own = foolsgold.function(moved, clients=np.arange(4), memory=own)
        np.testing.assert_array_equal(joint, alone)
    assert set(memory) == {"before0.history", "before0.history_clients", "history", "history_clients"}


def test_momentum_with_a_rule_without_memory_is_remembered():
    rule = median(before=[momentum(beta=0.9)])
    first, memory = rule(ROWS[0], np.ones(4), 4, clients=np.arange(4))
    second, _ = rule(ROWS[1], np.ones(4), 4, clients=np.arange(4), memory=memory)
    np.testing.assert_array_equal(first, np.median(ROWS[0], axis=0))
    np.testing.assert_allclose(second, np.median(0.9 * ROWS[0] + 0.1 * ROWS[1], axis=0), atol=1e-6)


def test_momentum_behind_a_step_that_mixes_clients_is_refused():
    with pytest.raises(ConfigError, match="momentum needs each client's update, and bucketing mixes them"):
        mean(before=[bucketing, momentum])
    mean(before=[momentum, bucketing])


def test_what_differs_by_chance_averages_out_and_a_steady_lie_stays():
    rng = np.random.default_rng(1)
    memory = {}
    for _ in range(60):
        rows = rng.standard_normal((10, 500)).astype(np.float32)
        rows[0] += 1.0
        moved, memory = momentum.function(rows, memory=memory, beta=0.9)
    assert moved[1:].std() == pytest.approx(np.sqrt(0.1 / 1.9), rel=0.1)  # a geometric series of variances
    assert moved[0].mean() == pytest.approx(1.0, abs=0.1)


def test_a_run_with_momentum_learns():
    game = play(
        rounds=10, split={"name": "iid", "clients": 12}, model={"name": "softmax"}, strategy={"name": "fedavg"},
        aggregation={"name": "median", "attackers": 3, "before": ["momentum"]},
    )  # fmt: skip
    assert game.mean_accuracy > 0.8
