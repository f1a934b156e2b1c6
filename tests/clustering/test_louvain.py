import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.clustering.synthetic import cosine_distances, grouped_updates
from tests.oracles import modularity as oracle

from flockwise.clustering import leiden, louvain, modularity
from flockwise.clustering.graph import DENSE_LIMIT
from flockwise.errors import InputError

both = pytest.mark.parametrize("search", [louvain, leiden])


def random_graph(count, seed, density=1.0):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((count, count)) * (rng.random((count, count)) < density), 1)
    return weights + weights.T


def same_partition(one, other):
    return np.array_equal(one[:, None] == one, other[:, None] == other)


def similarity_and_truth(sizes, seed=0):
    updates, truth = grouped_updates(sizes, seed=seed)
    return 2 - cosine_distances(updates), truth


@given(st.integers(2, 25), st.integers(0, 10**6), st.floats(0.2, 3))
def test_modularity_is_that_of_networkx_and_of_the_formula(count, seed, resolution):
    weights = random_graph(count, seed) + 0.01 * (1 - np.eye(count))
    labels = np.random.default_rng(seed).integers(0, 4, count)
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    expected = nx.community.modularity(nx.from_numpy_array(weights), groups, resolution=resolution)
    assert modularity(weights, labels, resolution) == pytest.approx(expected, abs=1e-12)
    assert oracle.modularity(weights, labels, resolution) == pytest.approx(expected, abs=1e-12)
    assert modularity(sparse.csr_array(weights), labels, resolution) == pytest.approx(expected, abs=1e-12)


@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(0.5, 2))
def test_modularity_with_self_loops_is_that_of_networkx(count, seed, resolution):
    weights = random_graph(count, seed) + np.diag(np.random.default_rng(seed).random(count)) + 0.01
    labels = np.random.default_rng(seed).integers(0, 3, count)
    groups = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    expected = nx.community.modularity(nx.from_numpy_array(weights), groups, resolution=resolution)
    assert modularity(weights, labels, resolution, self_loops=True) == pytest.approx(expected, abs=1e-12)


@both
def test_small_graphs_reach_the_best_modularity_of_all_partitions(search):
    missed = 0
    for seed in range(45):
        weights = random_graph(4 + seed % 3, seed, density=0.7)
        resolution = [0.7, 1.0, 1.5][seed // 3 % 3]
        found = modularity(weights, search(weights, resolution), resolution)
        missed += found < oracle.best_modularity(weights, resolution) - 1e-9
    assert missed <= 2


@both
def test_modularity_is_at_least_that_of_networkx(search):
    lead = []
    for seed in range(45):
        weights = random_graph(10 + seed, seed, density=[0.15, 0.4, 1.0][seed % 3])
        graph = nx.from_numpy_array(weights)
        reference = nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=seed))
        lead.append(modularity(weights, search(weights)) - reference)
    assert min(lead) > -0.005
    assert np.mean(np.array(lead) < -1e-9) < 0.1
    assert np.mean(lead) > 0


@both
@settings(max_examples=25, deadline=None)
@given(count=st.integers(2, 50), seed=st.integers(0, 10**6), density=st.sampled_from([0.2, 1.0]))
@example(count=18, seed=3000, density=1.0)  # strengths that were not added up anew made Leiden differ here
def test_another_order_of_clients_gives_the_same_flocks(search, count, seed, density):
    weights = random_graph(count, seed, density)
    order = np.random.default_rng(seed).permutation(count)
    assert same_partition(search(weights)[order], search(weights[np.ix_(order, order)]))


@both
@pytest.mark.parametrize("sizes", [[25] * 4, [20] * 5, [50, 30, 20]])
def test_planted_groups_are_found_in_the_similarities_of_updates(search, sizes):
    similarity, truth = similarity_and_truth(sizes)
    assert same_partition(search(similarity), truth)


@both
def test_never_compared_clients_have_no_edge(search):
    updates, truth = grouped_updates([20, 20], same=0.05, different=0.95)
    similarity = 1.2 - cosine_distances(updates)
    missing = np.triu(np.random.default_rng(0).random(similarity.shape) < 0.3, 1)
    with_gaps = np.where(missing | missing.T, np.nan, similarity)
    without_edge = np.where(missing | missing.T, 0.0, similarity)
    assert np.array_equal(search(with_gaps), search(without_edge))
    assert same_partition(search(with_gaps), truth)


@both
def test_the_diagonal_counts_only_with_self_loops(search):
    weights = random_graph(12, 3)
    assert np.array_equal(search(weights + np.diag(np.full(12, 50.0))), search(weights))
    assert len(set(search(weights + np.diag(np.full(12, 50.0)), self_loops=True))) == 12


@both
def test_a_higher_resolution_gives_more_flocks(search):
    similarity, _ = similarity_and_truth([25] * 4)
    counts = [search(similarity, resolution).max() + 1 for resolution in (0.5, 1.0, 2.0)]
    assert counts == sorted(counts)
    assert counts[0] == 1 and counts[1] == 4 and counts[2] > 4


@both
def test_sparse_and_dense_input_give_the_same_flocks(search):
    weights = random_graph(80, 1, density=0.1)
    assert np.array_equal(search(weights), search(sparse.coo_array(weights)))


@both
def test_large_sparse_graphs_are_searched_without_a_dense_matrix(search):
    count, group = DENSE_LIMIT + 600, 60
    truth = np.arange(count) // group
    rng = np.random.default_rng(0)
    inside = rng.integers(0, count, count * 6)
    partner = truth[inside] * group + rng.integers(0, group, len(inside))
    across = rng.integers(0, count, (2, count))
    rows, columns = np.append(inside, across[0]), np.append(partner, across[1])
    weights = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count)).tocsr()
    weights = weights + weights.T
    labels = search(weights)
    # modularity cannot tell every pair of small groups apart, but must not fall below the planted flocks
    assert modularity(weights, labels) >= modularity(weights, truth) - 5e-3
    assert labels.dtype == np.int64


@both
def test_the_same_seed_gives_the_same_labels_and_the_input_stays(search):
    weights = random_graph(40, 5)
    before = weights.copy()
    assert np.array_equal(search(weights, seed=3), search(weights, seed=3))
    assert np.array_equal(weights, before)


@both
def test_clients_without_edges_stay_alone(search):
    assert search(np.zeros((3, 3))).tolist() == [0, 1, 2]
    assert search(np.ones((1, 1))).tolist() == [0]
    assert search(np.array([[0, 1.0], [1, 0]])).tolist() == [0, 0]
    lonely = np.zeros((4, 4))
    lonely[1, 2] = lonely[2, 1] = 1
    assert search(lonely).tolist() == [0, 1, 1, 2]


@both
def test_equal_clients_form_one_flock(search):
    assert search(np.full((10, 10), 2.0)).tolist() == [0] * 10


@both
@pytest.mark.parametrize(
    ("matrix", "told"),
    [
        (np.array([[0, -0.5], [-0.5, 0]]), "1 \\+ cosine"),
        (np.array([[0, 1], [2, 0]]), "symmetric"),
        (np.array([[0, np.inf], [np.inf, 0]]), "infinity"),
        (np.ones((2, 3)), "square"),
        (np.empty((0, 0)), "empty"),
    ],
)
def test_impossible_graphs_are_refused_with_the_reason(search, matrix, told):
    with pytest.raises(InputError, match=told):
        search(matrix)


@both
@pytest.mark.parametrize("setting", [{"resolution": 0}, {"resolution": np.nan}, {"starts": 0}])
def test_impossible_settings_are_refused(search, setting):
    with pytest.raises(InputError):
        search(np.ones((3, 3)), **setting)


def test_every_leiden_flock_is_connected():
    for seed in range(20):
        weights = random_graph(60, seed, density=0.06)
        labels = leiden(weights)
        for label in range(labels.max() + 1):
            members = np.flatnonzero(labels == label)
            part = sparse.csr_array(weights[np.ix_(members, members)])
            assert sparse.csgraph.connected_components(part)[0] == 1
