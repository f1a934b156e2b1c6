import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score
from tests.clustering.synthetic import cosine_distances, grouped_updates

from flockwise.clustering import agglomerative, automatic_threshold, dendrogram, join_flocks

METRICS = {
    "l1": lambda updates: squareform(pdist(updates, "cityblock")),
    "l2": lambda updates: squareform(pdist(updates)),
    "cosine": cosine_distances,
}


def test_auto_is_right_where_no_cut_of_the_tree_is():
    for seed in (0, 1, 2):
        updates, truth = grouped_updates([10] * 4, seed=seed, spread=0.05, lengths=0.1)
        distance = METRICS["l1"](updates)
        cuts = hierarchy.cut_tree(dendrogram(distance, "single"))
        assert max(adjusted_rand_score(truth, labels) for labels in cuts.T) < 0.95
        assert adjusted_rand_score(truth, agglomerative(distance, "single", "auto")) == 1.0


def test_a_number_leaves_alone_whom_auto_lets_join():
    updates, _ = grouped_updates([10] * 4, seed=0, spread=0.05, lengths=0.1)
    distance = METRICS["l1"](updates)
    merges = dendrogram(distance, "single")
    height = automatic_threshold(distance, merges)
    by_number = agglomerative(distance, "single", height)
    assert np.bincount(by_number).min() == 1
    assert by_number.max() + 1 == len(np.unique(hierarchy.fcluster(merges, height, "distance")))
    assert np.array_equal(join_flocks(distance, by_number), agglomerative(distance, "single", "auto"))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("linkage", ["average", "single"])
def test_a_wolf_that_sends_noise_stays_alone(metric, linkage):
    updates, truth = grouped_updates([10] * 4, 0.5, 0.8, seed=4, spread=0.05, lengths=0.05)
    noise = np.random.default_rng(0).normal(size=updates.shape[1])
    updates[7] = 1.5 * noise * np.linalg.norm(updates[7]) / np.linalg.norm(noise)
    labels = agglomerative(METRICS[metric](updates), linkage, "auto")
    truth[7] = 4
    assert adjusted_rand_score(truth, labels) == 1.0


def test_an_update_ten_times_as_long_stays_alone_by_length_and_joins_by_direction():
    updates, truth = grouped_updates([10] * 4, seed=0, spread=0.05, lengths=0.05)
    updates[3] *= 10
    alone = np.where(np.arange(40) == 3, 4, truth)
    assert adjusted_rand_score(alone, join_flocks(METRICS["l2"](updates), alone)) == 1.0
    assert adjusted_rand_score(truth, join_flocks(METRICS["cosine"](updates), alone)) == 1.0


def test_a_client_halfway_between_two_flocks_stays_alone():
    points = np.concatenate(
        [np.repeat([[0.0], [10.0]], 8, axis=0) + np.tile([[0.0], [0.5]], (8, 1)), [[5.2]]]
    )
    labels = np.repeat([0, 1, 2], [8, 8, 1])
    assert join_flocks(squareform(pdist(points)), labels).tolist() == labels.tolist()
    points[-1] = 1.5
    assert join_flocks(squareform(pdist(points)), labels).tolist() == [0] * 8 + [1] * 8 + [0]


def test_with_one_flock_or_nobody_left_over_nothing_changes():
    distance = squareform(pdist(np.random.default_rng(0).normal(size=(20, 3))))
    for labels in (np.zeros(20, dtype=np.int64), np.repeat([0, 1], 10), np.repeat([0, 1], [19, 1])):
        assert join_flocks(distance, labels) is labels


@given(
    count=st.integers(6, 30),
    seed=st.integers(0, 10**6),
    exponent=st.integers(-6, 6),
)
def test_members_of_flocks_stay_and_the_scale_does_not_matter(count, seed, exponent):
    rng = np.random.default_rng(seed)
    distance = squareform(pdist(rng.normal(size=(count, 3))))
    labels = agglomerative(distance, "single", float(np.quantile(distance, 0.2)))
    joined = join_flocks(distance, labels)
    members = np.bincount(labels)[labels] >= max(2, round(0.5 * np.sqrt(count)))
    together = labels[members][:, None] == labels[members]
    assert np.array_equal(joined[members][:, None] == joined[members], together)
    assert np.array_equal(join_flocks(distance * 2.0**exponent, labels), joined)
