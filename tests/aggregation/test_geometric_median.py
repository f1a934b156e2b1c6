import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.oracles.robust_rules import sum_of_distances

from flockwise.aggregation import geometric_median
from flockwise.aggregation import geometric_median as rule
from flockwise.errors import InputError


@settings(max_examples=100, deadline=None)
@given(
    arrays(
        np.float32, st.tuples(st.integers(1, 9), st.integers(1, 4)), elements=st.integers(-9, 9).map(float)
    )
)
def test_no_point_nearby_is_better(rows):
    weights = np.full(len(rows), 1 / len(rows))
    found = geometric_median(rows)
    least = sum_of_distances(rows, found, weights)
    rng = np.random.default_rng(0)
    tries = [found + step * rng.standard_normal(rows.shape[1]) for step in (1, 0.1, 0.01) for _ in range(20)]
    for point in [*tries, *rows, rows.mean(axis=0)]:
        assert sum_of_distances(rows, point, weights) >= least - 1e-4 * (1 + least)


def test_a_majority_in_one_point_is_returned_exactly():
    rows = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    rows[1] = rows[3] = rows[0]
    assert np.array_equal(geometric_median(rows), rows[0])
    assert np.array_equal(geometric_median(rows[:3], [1, 0.4, 0.4]), rows[0])


def test_two_equal_clients_meet_in_the_middle():
    assert geometric_median([[0.0, 0.0], [2.0, 4.0]]).tolist() == [1.0, 2.0]


def test_the_heavier_of_two_clients_wins():
    assert geometric_median([[0.0, 0.0], [2.0, 4.0]], [1, 2]).tolist() == [2.0, 4.0]


def test_weights_count_like_copies():
    rows = np.random.default_rng(1).standard_normal((6, 5)).astype(np.float32)
    copies = np.repeat(rows, [1, 2, 1, 3, 1, 1], axis=0)
    np.testing.assert_allclose(
        geometric_median(rows, [1, 2, 1, 3, 1, 1]), geometric_median(copies), atol=1e-4
    )


def test_many_clients_give_the_same_median_as_pairwise_distances(monkeypatch):
    import sys

    module = sys.modules[rule.__module__]
    rng = np.random.default_rng(2)
    rows = (rng.standard_normal((60, 300)) * rng.random((60, 1)) + 3).astype(np.float32)
    pairwise = geometric_median(rows, tolerance=1e-8)
    monkeypatch.setattr(module, "PAIRWISE", 1)
    np.testing.assert_allclose(geometric_median(rows, tolerance=1e-8), pairwise, atol=1e-5)


def test_no_step_at_all_is_refused():
    with pytest.raises(InputError, match="steps"):
        geometric_median([[1.0]], steps=0)


def test_no_client_nor_a_simpler_mean_of_them_has_a_smaller_sum_of_distances():
    rng = np.random.default_rng(0)

    def total(point, rows):
        return np.sqrt(((rows.astype(np.float64) - point.astype(np.float64)) ** 2).sum(axis=1)).sum()

    for _ in range(300):
        clients, size = int(rng.integers(2, 12)), int(rng.integers(1, 20))
        rows = (rng.normal(size=(clients, size)) * 10 ** rng.uniform(-3, 3)).astype(np.float32)
        if rng.random() < 0.3:
            rows[rng.integers(0, clients)] *= np.float32(10 ** rng.uniform(0, 6))
        if rng.random() < 0.2:
            rows[: clients // 2 + 1] = rows[0]
        best = min(total(point, rows) for point in [*rows, rows.mean(axis=0), np.median(rows, axis=0)])
        assert total(geometric_median(rows), rows) <= best * (1 + 1e-6)


def test_no_client_in_a_tight_cluster_has_a_smaller_sum_of_distances(cases):
    """There the iteration is slow. What is allowed is the rounding of the answer: the sum changes no faster than it."""
    for case in range(cases.many(100)):
        rng = np.random.default_rng([2, case])
        clients, size = int(rng.integers(2, 41)), int(rng.choice([2, 5, 20, 50]))
        centers = rng.normal(size=(3, size))[rng.integers(0, 3, clients)]
        rows = (centers + rng.normal(size=(clients, size)) * 10.0 ** rng.uniform(-6, -1)).astype(np.float32)
        weights = rng.uniform(0.1, 5, clients)
        weights /= weights.sum()
        found = geometric_median(rows, weights).astype(np.float64)
        best = min(sum_of_distances(rows, row, weights) for row in rows)
        rounding = np.finfo(np.float32).eps * np.linalg.norm(found)
        assert sum_of_distances(rows, found, weights) <= best * (1 + 1e-12) + rounding, case


@pytest.mark.parametrize(
    ("numbers", "order"),
    [([-3, -2, -1, -3, 1, -2, 1, 2, -2, 1], [4, 9, 3, 6, 0, 7, 1, 2, 8, 5]), ([2, -2, 3, 1], [3, 1, 0, 2])],
)
def test_of_many_points_that_are_as_good_another_order_of_clients_takes_the_same(numbers, order):
    """Anything between the two in the middle; by rounding alone it was 2 in one order and 1 in another."""
    rows = np.array(numbers, np.float32)[:, None]
    np.testing.assert_allclose(geometric_median(rows[order]), geometric_median(rows), rtol=1e-6)
