import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.bipartition import best_split

from flockwise.clustering import bipartition
from flockwise.errors import InputError


def random_similarity(count, seed, levels=None):
    rng = np.random.default_rng(seed)
    matrix = rng.uniform(-1, 1, (count, count)) if levels is None else rng.integers(0, levels, (count, count))
    return np.triu(matrix, 1) + np.triu(matrix, 1).T + np.eye(count)


def largest_across(similarity, labels):
    return similarity[labels == 0][:, labels == 1].max()


@given(st.integers(2, 9), st.integers(0, 10**6), st.sampled_from([None, 2, 4]))
def test_no_split_has_a_smaller_largest_cross_similarity(count, seed, levels):
    similarity = random_similarity(count, seed, levels)
    labels, alpha_cross = bipartition(similarity)
    assert sorted(set(labels)) == [0, 1]
    assert largest_across(similarity, labels) == alpha_cross == best_split(similarity)


@given(st.integers(2, 30), st.integers(0, 10**6))
def test_the_order_of_clients_does_not_change_the_split(count, seed):
    similarity = random_similarity(count, seed)
    order = np.random.default_rng(seed).permutation(count)
    labels, alpha = bipartition(similarity)
    moved, moved_alpha = bipartition(similarity[np.ix_(order, order)])
    assert moved_alpha == alpha
    assert np.array_equal(moved == moved[0], labels[order] == labels[order][0])


def test_of_equally_good_splits_the_largest_tight_set_stands_against_the_rest_in_any_order():
    blocks = np.repeat([0, 1, 2], [4, 3, 2])
    similarity = np.where(blocks[:, None] == blocks, 0.9, 0.1)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(9)
        labels, alpha = bipartition(similarity[np.ix_(order, order)])
        assert alpha == 0.1
        largest = blocks[order] == 0
        assert np.array_equal(labels == labels[largest.argmax()], largest)


def test_of_equally_large_sets_the_one_most_similar_inside_is_chosen_in_any_order():
    blocks = np.repeat([0, 1, 2], 3)
    similarity = np.where(blocks[:, None] == blocks, np.array([0.7, 0.9, 0.8])[blocks], 0.1)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(9)
        labels, _ = bipartition(similarity[np.ix_(order, order)])
        chosen = blocks[order] == 1
        assert np.array_equal(labels == labels[chosen.argmax()], chosen)


def test_the_complete_linkage_of_the_published_code_misses_the_optimum_that_we_find():
    from scipy.cluster.hierarchy import fcluster, linkage

    missed = 0
    for seed in range(50):
        similarity = random_similarity(12, seed)
        tree = linkage((1 - similarity)[np.triu_indices(12, 1)], "complete")
        published = largest_across(similarity, fcluster(tree, 2, "maxclust") - 1)
        _, alpha = bipartition(similarity)
        assert alpha <= published
        missed += alpha < published
    assert missed > 10


def test_one_client_is_never_split():
    labels, alpha_cross = bipartition(np.ones((1, 1)))
    assert labels.tolist() == [0]
    assert alpha_cross == np.inf


def test_two_clients_are_split_at_their_similarity():
    labels, alpha_cross = bipartition(np.array([[1, 0.3], [0.3, 1]]))
    assert labels.tolist() == [0, 1]
    assert labels.dtype == np.int64
    assert alpha_cross == 0.3


def test_equal_clients_have_alpha_cross_one():
    labels, alpha_cross = bipartition(np.ones((5, 5)))
    assert alpha_cross == 1
    assert sorted(np.bincount(labels)) == [1, 4]


def test_the_input_is_not_changed():
    similarity = random_similarity(6, 0)
    before = similarity.copy()
    bipartition(similarity)
    assert np.array_equal(similarity, before)


@pytest.mark.parametrize(
    "matrix",
    [np.ones((2, 3)), np.full((2, 2), np.nan), np.array([[1, 0], [1, 1]]), np.empty((0, 0)), np.ones(3)],
)
def test_impossible_matrices_are_refused(matrix):
    with pytest.raises(InputError):
        bipartition(matrix)
