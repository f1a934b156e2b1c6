import numpy as np
import pytest

from flockwise.clustering import kmeans_elbow
from flockwise.errors import InputError


def blobs(centres, each, noise, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(centres)), each)
    points = np.asarray(centres, dtype=float)[truth]
    return points + noise * rng.normal(size=points.shape), truth


@pytest.mark.parametrize("groups", [2, 3, 5, 7])
def test_the_elbow_is_at_the_number_of_groups(groups):
    angle = 2 * np.pi * np.arange(groups) / groups
    points, truth = blobs(10 * np.c_[np.cos(angle), np.sin(angle)], 10, 0.5)
    labels, k, sse = kmeans_elbow(points)
    assert k == groups
    assert np.array_equal(labels, truth)
    assert len(sse) == 10 and np.all(np.diff(sse) <= 0)


def test_five_equally_spaced_groups_on_a_line_are_five():
    points, truth = blobs([[0.0], [1], [2], [3], [4]], 5, 0.02)
    labels, k, _ = kmeans_elbow(points)
    assert k == 5 and np.array_equal(labels, truth)


def test_one_feature_as_a_vector_is_enough():
    points, truth = blobs([[0.0], [100], [300]], 7, 1.0)
    labels, k, _ = kmeans_elbow(points[:, 0], k_max=6)
    assert k == 3 and np.array_equal(labels, truth)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", ["uniform", "normal"])
@pytest.mark.parametrize("features", [1, 3])
def test_points_without_structure_are_one_flock(seed, spread, features):
    points = getattr(np.random.default_rng(seed), spread)(size=(60, features))
    assert kmeans_elbow(points, seed=seed)[1] == 1


def test_the_sse_is_the_sum_of_squared_distances_to_the_flock_means():
    points, _ = blobs([[0.0, 0], [9, 0]], 8, 1.0)
    labels, k, sse = kmeans_elbow(points)
    assert k == 2
    expected = sum(((points[labels == c] - points[labels == c].mean(axis=0)) ** 2).sum() for c in range(2))
    assert sse[1] == pytest.approx(expected)
    assert sse[0] == pytest.approx(((points - points.mean(axis=0)) ** 2).sum())


def test_equal_rows_share_a_flock_and_the_error_is_zero_from_there():
    labels, k, sse = kmeans_elbow(np.repeat([1.0, 5.0, 9.0], 4))
    assert labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert k == 3 and sse[2:].tolist() == [0] * 8


@pytest.mark.parametrize("clients", [1, 2])
def test_one_or_two_clients_are_one_flock(clients):
    labels, k, _ = kmeans_elbow(np.arange(clients, dtype=float))
    assert labels.tolist() == [0] * clients and k == 1


def test_all_equal_clients_are_one_flock():
    assert kmeans_elbow(np.ones((6, 2)))[1] == 1


def test_standardising_lets_a_small_feature_count():
    rng = np.random.default_rng(0)
    truth = np.arange(40) % 2
    points = np.c_[rng.normal(size=40) * 1000, truth + rng.normal(size=40) * 0.02, truth]
    plain, _, _ = kmeans_elbow(points, k_max=4)
    labels, k, _ = kmeans_elbow(points, k_max=4, standardise=True)
    assert not np.array_equal(plain, truth)
    assert k == 2 and np.array_equal(labels, truth)


def test_the_order_of_clients_does_not_change_clear_flocks():
    points, _ = blobs([[0.0, 0], [9, 0], [0, 9]], 8, 0.5)
    order = np.random.default_rng(1).permutation(24)
    labels, moved = kmeans_elbow(points)[0][order], kmeans_elbow(points[order])[0]
    assert np.array_equal(labels[:, None] == labels, moved[:, None] == moved)


@pytest.mark.parametrize("points", [np.empty((0, 2)), [np.nan, 1.0], np.ones((2, 2, 2))])
def test_impossible_points_are_refused(points):
    with pytest.raises(InputError):
        kmeans_elbow(points)


def test_an_impossible_k_max_is_refused():
    with pytest.raises(InputError, match="k_max"):
        kmeans_elbow(np.ones((3, 1)), k_max=0)
