import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from tests.oracles import distances as oracle

from flockwise.errors import InputError
from flockwise.kernels import set_threads
from flockwise.similarity import cosine, l1, l2

matrices = arrays(
    np.float32, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=st.floats(-100, 100, width=16)
)
MEASURES = {"cosine": (cosine, oracle.cosine), "l1": (l1, oracle.l1), "l2": (l2, oracle.l2)}


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=200, deadline=None)
@given(rows=matrices)
def test_matches_its_definition(name, rows):
    measure, definition = MEASURES[name]
    expected = oracle.pairwise(rows, definition)
    if name == "cosine":
        np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(measure(rows), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MEASURES)
def test_is_exactly_symmetric_and_the_same_for_any_number_of_threads(name):
    rows = np.random.default_rng(0).standard_normal((37, 120_001), dtype=np.float32)
    results = []
    try:
        for threads in (1, 2, 3):
            set_threads(threads)
            results.append(MEASURES[name][0](rows))
    finally:
        set_threads(None)
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])
    assert np.array_equal(results[0], results[0].T)
    reference = {"cosine": "cosine", "l1": "cityblock", "l2": "euclidean"}[name]
    expected = cdist(rows, rows, reference)
    np.testing.assert_allclose(
        results[0], 1 - expected if name == "cosine" else expected, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("name", MEASURES)
def test_the_order_of_clients_only_reorders(name):
    rows = np.random.default_rng(0).standard_normal((11, 300)).astype(np.float32)
    order = np.random.default_rng(1).permutation(11)
    measure = MEASURES[name][0]
    np.testing.assert_allclose(
        measure(rows[order]), measure(rows)[np.ix_(order, order)], rtol=1e-6, atol=1e-7
    )


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_are_refused(name, value):
    rows = np.ones((4, 6), np.float32)
    rows[2, 5] = value
    with pytest.raises(InputError, match=r"updates\[2, 5\]"):
        MEASURES[name][0](rows)


@pytest.mark.parametrize("change", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5])
def test_nearly_equal_models_keep_their_distances(change):
    rng = np.random.default_rng(0)
    model = rng.standard_normal(20_000)
    rows = (model + change * rng.standard_normal((8, 20_000)) * rng.random((8, 1))).astype(np.float32)
    off = ~np.eye(8, dtype=bool)
    for name in ("l1", "l2"):
        expected = oracle.pairwise(rows, MEASURES[name][1])
        np.testing.assert_allclose(MEASURES[name][0](rows)[off], expected[off], rtol=1e-5)


def test_several_tight_groups_far_apart_keep_their_distances():
    rng = np.random.default_rng(1)
    centers = 100 * rng.standard_normal((3, 5000))
    rows = np.concatenate([center + 1e-3 * rng.standard_normal((4, 5000)) for center in centers])
    rows = rows.astype(np.float32)
    rows[7] = rows[6]
    expected = oracle.pairwise(rows, oracle.l2)
    assert l2(rows)[6, 7] == 0
    np.testing.assert_allclose(l2(rows), expected, rtol=1e-5)


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e15, 1e25, 1e37])
def test_scale_does_not_matter(scale):
    rows = np.random.default_rng(2).standard_normal((5, 50)).astype(np.float32)
    scaled = (rows * np.float32(scale)).astype(np.float32)
    np.testing.assert_allclose(cosine(scaled), cosine(rows), atol=1e-5)
    np.testing.assert_allclose(l2(scaled), l2(rows) * scale, rtol=1e-5)
    np.testing.assert_allclose(l1(scaled), l1(rows) * scale, rtol=1e-5)


def test_a_client_too_long_for_float32_is_as_far_as_it_is():
    """Its length overflows, and what it has in common with others does not."""
    rows = np.array([[3e38, -3e38], [0.0, 0.0], [1.0, 2.0]], np.float32)
    np.testing.assert_allclose(l1(rows), [[0, 6e38, 6e38], [6e38, 0, 3], [6e38, 3, 0]], rtol=1e-6)


def test_a_reversed_client_has_cosine_minus_one():
    row = np.random.default_rng(3).standard_normal(1000).astype(np.float32)
    assert cosine([row, -row])[0, 1] == pytest.approx(-1, abs=1e-7)
    assert cosine([row, -100 * row])[0, 1] == pytest.approx(-1, abs=1e-6)


def test_a_zero_update_is_similar_to_none_but_itself():
    result = cosine([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    assert result.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_cosines_stay_within_their_range():
    rows = np.tile(np.random.default_rng(4).standard_normal(777).astype(np.float32), (30, 1))
    result = cosine(rows * np.arange(1, 31)[:, None])
    assert result.max() <= 1 and result.min() > 1 - 1e-6
