import numpy as np
import pytest
from tests.oracles import distances as oracle

from flockwise.errors import InputError
from flockwise.similarity import trusted

LAYERS = [(0, 700), (700, 900), (900, 1000)]


def models(change, clients=6):
    rng = np.random.default_rng(0)
    return (rng.standard_normal(1000) * (1 + change * rng.standard_normal((clients, 1000)))).astype(
        np.float32
    )


def one_way(rows):
    return oracle.pairwise(rows, lambda a, b: oracle.trusted(a, b, LAYERS))


@pytest.mark.parametrize("change", [1.0, 1e-1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("centered", [False, True])
def test_matches_equation_two_in_both_directions(change, centered):
    rows = models(change)
    expected = one_way(rows)
    center = rows[0] if centered else None
    off = ~np.eye(len(rows), dtype=bool)
    both = 0.5 * (expected + expected.T)
    np.testing.assert_allclose(trusted(rows, LAYERS, center)[off], both[off], rtol=1e-5)
    larger = np.maximum(expected, expected.T)
    np.testing.assert_allclose(trusted(rows, LAYERS, center, "max")[off], larger[off], rtol=1e-5)


def test_upper_mirrors_one_direction_as_the_authors_did():
    rows = models(1.0)
    result = trusted(rows, LAYERS, symmetrize="upper")
    upper = np.triu_indices(len(rows), 1)
    np.testing.assert_allclose(result[upper], one_way(rows)[upper], rtol=1e-5)
    assert np.array_equal(result, result.T)


def test_the_mean_does_not_depend_on_the_order_of_clients():
    rows = models(0.5)
    order = [3, 1, 5, 0, 2, 4]
    expected = trusted(rows, LAYERS)[np.ix_(order, order)]
    np.testing.assert_allclose(trusted(rows[order], LAYERS), expected, rtol=1e-6)


def test_zero_layers_stay_finite():
    rows = models(0.1)
    rows[0, 700:900] = 0
    rows[1, 700:900] = 0
    result = trusted(rows, LAYERS)
    expected = one_way(rows)
    off = ~np.eye(len(rows), dtype=bool)
    np.testing.assert_allclose(result[off], (0.5 * (expected + expected.T))[off], rtol=1e-5)
    assert result.max() < 10


def test_equal_models_have_distance_zero():
    assert not trusted(np.tile(models(1.0, 1), (4, 1)), LAYERS).any()


@pytest.mark.parametrize("layers", [[], [(5, 5)], [(0, 1001)], [(-1, 5)]])
def test_impossible_layers_are_refused(layers):
    with pytest.raises(InputError, match="layers"):
        trusted(models(1.0), layers)


def test_an_unknown_way_to_symmetrize_is_refused():
    with pytest.raises(InputError, match="symmetrize"):
        trusted(models(1.0), LAYERS, symmetrize="lower")
