import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from tests.oracles import robust_rules as oracle

from flockwise.aggregation import median, trimmed_mean
from flockwise.errors import InputError

numbers = st.floats(-100, 100, width=32)


@settings(max_examples=200, deadline=None)
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=numbers))
def test_median_matches_numpy(rows):
    np.testing.assert_allclose(median(rows), np.median(rows.astype(float), axis=0), rtol=1e-6, atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(
    arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=numbers),
    st.floats(0, 0.499),
)
def test_trimmed_mean_matches_its_definition(rows, trim):
    dropped = int(np.floor(trim * len(rows) + 1e-9))
    np.testing.assert_allclose(
        trimmed_mean(rows, trim), oracle.trimmed_mean(rows, dropped), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("clients", [1, 2, 3, 4, 5, 8, 9, 19, 20, 31, 32, 33, 63, 64, 65, 99, 100, 130, 257])
def test_every_size_of_federation_is_sorted_right(clients):
    rows = np.random.default_rng(clients).standard_normal((clients, 3001), dtype=np.float32)
    assert np.array_equal(median(rows), np.median(rows, axis=0))
    expected = oracle.trimmed_mean(rows, clients // 5)
    np.testing.assert_allclose(trimmed_mean(rows, 0.2), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("clients", "trim", "dropped"), [(10, 0.1, 1), (100, 0.29, 29), (9, 0.1, 0), (10, 0.49, 4)]
)
def test_trim_drops_that_fraction_at_each_end(clients, trim, dropped):
    rows = np.zeros((clients, 1))
    rows[:dropped] = 1e6
    assert trimmed_mean(rows, trim)[0] == 0
    rows[: dropped + 1] = 1e6
    assert trimmed_mean(rows, trim)[0] > 0


@pytest.mark.parametrize("trim", [-0.1, 0.5, 0.6, float("nan")])
def test_impossible_trims_are_refused(trim):
    with pytest.raises(InputError, match="trim = "):
        trimmed_mean([[1.0]], trim)


def test_zeros_of_either_sign_give_the_same_bits():
    for rows in ([[0.0], [-0.0], [0.0]], [[-0.0], [-0.0], [0.0]]):
        assert not np.signbit(median(rows)).any()


def test_the_median_of_two_huge_values_is_finite():
    assert median(np.full((2, 1), 3e38, np.float32))[0] == np.float32(3e38)
