import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score
from tests.clustering.synthetic import cosine_distances, grouped_updates

from flockwise.clustering import agglomerative, automatic_threshold, dendrogram
from flockwise.errors import InputError

LINKAGES = ["average", "complete", "single", "ward"]


def same_partition(one, other):
    return np.array_equal(one[:, None] == one, other[:, None] == other)


@pytest.mark.parametrize("linkage", LINKAGES)
@given(count=st.integers(2, 30), seed=st.integers(0, 10**6), threshold=st.floats(0.1, 4))
def test_flocks_are_those_of_scikit_learn(linkage, count, seed, threshold):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    metric = {"metric": "euclidean"} if linkage == "ward" else {"metric": "precomputed"}
    reference = AgglomerativeClustering(
        n_clusters=None, distance_threshold=threshold, linkage=linkage, **metric
    ).fit_predict(points if linkage == "ward" else squareform(pdist(points)))
    assert same_partition(agglomerative(squareform(pdist(points)), linkage, threshold), reference)
    assert same_partition(agglomerative(points=points, linkage=linkage, threshold=threshold), reference)


@pytest.mark.parametrize("linkage", LINKAGES)
@given(count=st.integers(2, 30), seed=st.integers(0, 10**6), flocks=st.integers(1, 30))
def test_so_many_flocks_are_those_of_scikit_learn(linkage, count, seed, flocks):
    points = np.random.default_rng(seed).normal(size=(count, 3))
    labels = agglomerative(points=points, linkage=linkage, flocks=flocks)
    reference = AgglomerativeClustering(min(flocks, count), linkage=linkage).fit_predict(points)
    assert same_partition(labels, reference)


@pytest.mark.parametrize("flocks, threshold", [(0, "auto"), (2, 1.0)])
def test_a_number_of_flocks_must_be_positive_and_alone(flocks, threshold):
    with pytest.raises(InputError, match=f"flocks = {flocks}: must be"):
        agglomerative(points=[[0.0], [1.0], [2.0]], threshold=threshold, flocks=flocks)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_dendrogram_is_that_of_scipy(linkage):
    points = np.random.default_rng(0).normal(size=(20, 4))
    assert np.allclose(dendrogram(squareform(pdist(points)), linkage), hierarchy.linkage(points, linkage))


@pytest.mark.parametrize("linkage", LINKAGES)
@given(count=st.integers(2, 25), seed=st.integers(0, 10**6))
def test_the_order_of_clients_does_not_change_the_flocks(linkage, count, seed):
    rng = np.random.default_rng(seed)
    points, order = rng.normal(size=(count, 3)), rng.permutation(count)
    for threshold in (1.0, "auto"):
        labels = agglomerative(points=points, linkage=linkage, threshold=threshold)
        moved = agglomerative(points=points[order], linkage=linkage, threshold=threshold)
        assert same_partition(labels[order], moved)


def test_labels_count_up_in_order_of_the_first_client():
    labels = agglomerative(points=[[9.0], [0.0], [9.1], [5.0]], threshold=1.0)
    assert labels.tolist() == [0, 1, 0, 2]
    assert labels.dtype == np.int64


@pytest.mark.parametrize("threshold", [0.0, 1.0, "auto"])
def test_one_two_and_three_clients_and_duplicates_work(threshold):
    assert agglomerative(np.zeros((1, 1)), threshold=threshold).tolist() == [0]
    assert agglomerative(np.zeros((2, 2)), threshold=threshold).tolist() == [0, 0]
    assert agglomerative(np.zeros((3, 3)), threshold=threshold).tolist() == [0, 0, 0]
    assert agglomerative(np.zeros((8, 8)), threshold=threshold).tolist() == [0] * 8


def cells(updates):
    euclidean = np.sqrt(np.maximum(cdist(updates, updates, "sqeuclidean"), 0))
    np.fill_diagonal(euclidean, 0)
    yield "cosine", "average", cosine_distances(updates)
    yield "cosine", "complete", cosine_distances(updates)
    yield "l1", "complete", squareform(pdist(updates, "cityblock"))
    yield "l2", "complete", (euclidean + euclidean.T) / 2
    yield "l2", "ward", (euclidean + euclidean.T) / 2


def best_cut(truth, distance, linkage):
    cuts = hierarchy.cut_tree(dendrogram(distance, linkage))
    return max(adjusted_rand_score(truth, labels) for labels in cuts.T)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("same, different", [(0.435, 0.757), (0.629, 0.991), (0.652, 0.993)])
def test_auto_finds_the_four_groups_of_label_swap_at_every_round_metric_and_linkage(same, different, seed):
    updates, truth = grouped_updates([25] * 4, same, different, seed, lengths=0.1)
    for metric, linkage, distance in cells(updates):
        score = adjusted_rand_score(truth, agglomerative(distance, linkage, "auto"))
        assert score >= best_cut(truth, distance, linkage) - 0.02 > 0.9, (metric, linkage, score)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("clients", [4, 10, 40, 100])
def test_auto_keeps_clients_without_groups_together(clients, seed):
    updates, _ = grouped_updates([clients], seed=seed, lengths=0.1)
    for metric, linkage, distance in cells(updates):
        assert agglomerative(distance, linkage, "auto").max() == 0, (metric, linkage)


@pytest.mark.parametrize(
    "sizes", [[50, 50], [5, 5], [3, 3], [60, 25, 15], [10] * 10, [30, 20, 15, 12, 10, 8, 5]]
)
def test_auto_finds_two_to_ten_groups_even_or_not_by_cosine(sizes):
    updates, truth = grouped_updates(sizes, seed=3, spread=0.1)
    distance = cosine_distances(updates)
    for linkage in ("average", "complete"):
        assert adjusted_rand_score(truth, agglomerative(distance, linkage, "auto")) > 0.95


def test_auto_does_not_depend_on_the_scale():
    updates, truth = grouped_updates([20] * 3, seed=1)
    distance = squareform(pdist(updates, "cityblock"))
    expected = agglomerative(distance, "complete", "auto")
    assert adjusted_rand_score(truth, expected) > 0.97
    for scale in (1e-6, 1e6):
        assert np.array_equal(agglomerative(distance * scale, "complete", "auto"), expected)


def test_the_automatic_threshold_gives_the_same_flocks_when_passed_as_a_number():
    updates, _ = grouped_updates([20] * 3, seed=2)
    distance = cosine_distances(updates)
    height = automatic_threshold(distance, dendrogram(distance, "average"))
    assert np.array_equal(
        agglomerative(distance, "average", height), agglomerative(distance, "average", "auto")
    )


def test_groups_of_exact_duplicates_are_found():
    labels = agglomerative(points=np.repeat([[0.0, 0], [1, 0], [0, 1]], 4, axis=0))
    assert labels.tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"distance": np.eye(3)}, "similarity"),
        ({"distance": -np.ones((3, 3))}, "negative"),
        ({"distance": np.zeros((3, 2))}, "square"),
        ({"distance": np.full((2, 2), np.nan)}, "NaN"),
        ({}, "exactly one"),
        ({"distance": np.zeros((2, 2)), "points": np.zeros((2, 2))}, "exactly one"),
        ({"distance": np.zeros((2, 2)), "linkage": "median"}, "linkage"),
        ({"distance": np.zeros((2, 2)), "threshold": -1.0}, "threshold"),
        ({"distance": np.zeros((2, 2)), "threshold": "gap"}, "threshold"),
        ({"distance": np.zeros((2, 2)), "threshold": float("nan")}, "threshold"),
    ],
)
def test_impossible_arguments_are_refused_with_the_reason(arguments, told):
    with pytest.raises(InputError, match=told):
        agglomerative(**arguments)
