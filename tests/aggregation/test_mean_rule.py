import time

import numpy as np
import pytest

from flockwise.aggregation import mean
from flockwise.errors import InputError


def test_weights_are_scaled_to_sum_to_one():
    rows = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert mean(rows, [1, 3]).tolist() == [2.5, 5.0]
    assert mean(rows, [1e308, 1e308]).tolist() == [2.0, 4.0]


def test_a_client_of_weight_zero_has_no_part():
    assert mean([[1.0], [100.0]], [1, 0]).tolist() == [1.0]


@pytest.mark.parametrize("weights", [[1], [1, -1], [0, 0], [np.nan, 1], [np.inf, 1], ["a", "b"], [[1, 1]]])
def test_impossible_weights_are_refused(weights):
    with pytest.raises(InputError, match="weights"):
        mean([[1.0], [2.0]], weights)


def test_the_mean_of_huge_finite_updates_is_finite():
    rows = np.full((4, 3), 3e38, np.float32)
    np.testing.assert_allclose(mean(rows), 3e38, rtol=1e-6)


@pytest.mark.parametrize(("clients", "size"), [(7, 100_003), (300, 5000)])
def test_large_means_match_float64(clients, size):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((clients, size), dtype=np.float32)
    weights = rng.random(clients)
    expected = np.average(rows.astype(float), axis=0, weights=weights)
    np.testing.assert_allclose(mean(rows, weights), expected, atol=2e-6)


def test_a_small_mean_takes_less_than_100_microseconds():
    rows = np.ones((10, 7850), np.float32)
    times = []
    for _ in range(200):
        start = time.perf_counter()
        mean(rows)
        times.append(time.perf_counter() - start)
    assert min(times) < 100e-6
