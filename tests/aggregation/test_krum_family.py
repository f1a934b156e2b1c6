import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.oracles import robust_rules as oracle

from flockwise.aggregation import bulyan, krum, multi_krum, nearest_neighbor_mixing
from flockwise.errors import InputError


@st.composite
def groups(draw, factor, offset):
    """Small whole numbers (many exact ties) or sixty-fourths, with duplicates, and a fitting f.

    Float32 holds all differences of sixty-fourths exactly: the rules choose, and where two choices are as good up to
    rounding, either is right.
    """
    f = draw(st.integers(0, 3))
    clients = draw(st.integers(factor * f + offset, factor * f + offset + 6))
    fine = st.integers(-640, 640).map(lambda value: value / 64)
    elements = draw(st.sampled_from([st.integers(-2, 2).map(float), fine]))
    return draw(arrays(np.float32, (clients, draw(st.integers(1, 6))), elements=elements)), f


@settings(max_examples=300, deadline=None)
@given(groups(2, 3))
def test_krum_matches_its_definition(case):
    rows, f = case
    scores = oracle.krum_scores(rows, f)
    chosen = krum(rows, f)
    assert np.array_equal(chosen, rows[oracle.best(rows, scores)])


@settings(max_examples=200, deadline=None)
@given(groups(2, 3), st.data())
def test_multi_krum_averages_the_lowest_scores(case, data):
    rows, f = case
    m = data.draw(st.integers(1, len(rows)))
    scores = oracle.krum_scores(rows, f)
    order = sorted(range(len(rows)), key=lambda i: (round(scores[i], 3), tuple(rows[i])))
    gap = m == len(rows) or scores[order[m]] > scores[order[m - 1]] * 1.001 + 1e-6
    if gap:
        np.testing.assert_allclose(multi_krum(rows, f, m), rows[order[:m]].mean(axis=0), atol=1e-5)


@settings(max_examples=200, deadline=None)
@given(groups(4, 3))
def test_bulyan_matches_its_definition(case):
    rows, f = case
    np.testing.assert_allclose(bulyan(rows, f), oracle.bulyan(rows, f), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("clients", "f"), [(20, 4), (50, 10), (83, 20)])
def test_bulyan_matches_its_definition_for_real_sizes(clients, f):
    rows = np.random.default_rng(clients).standard_normal((clients, 64)).astype(np.float32)
    rows[:f] += 3
    np.testing.assert_allclose(bulyan(rows, f), oracle.bulyan(rows, f), atol=1e-6)


@pytest.mark.parametrize("clients", [1, 2, 3, 4])
@pytest.mark.parametrize("f", [0, 1, 2])
def test_small_groups_are_allowed_when_asked_for(clients, f):
    rows = np.random.default_rng(3).standard_normal((clients, 5)).astype(np.float32)
    if clients < 2 * f + 3:
        with pytest.raises(InputError, match="strict"):
            krum(rows, f)
    chosen = krum(rows, f, strict=False)
    assert (rows == chosen).all(axis=1).any()
    assert np.isfinite(multi_krum(rows, f, strict=False)).all()
    if clients > 1:
        assert np.array_equal(chosen, rows[oracle.best(rows, oracle.krum_scores(rows, f))])


def test_one_more_neighbour_can_change_the_choice():
    rows = np.array([[0.0], [1.0], [1.5], [4.0], [4.1]])
    assert krum(rows, 1)[0] == pytest.approx(rows[oracle.best(rows, oracle.krum_scores(rows, 1, 2))][0])
    more = krum(rows, 1, neighbours="n-f-1")[0]
    assert more == rows[oracle.best(rows, oracle.krum_scores(rows, 1, 3))][0]
    with pytest.raises(InputError, match="neighbours"):
        krum(rows, 1, neighbours="all")


@pytest.mark.parametrize("m", [0, 6, -1, 1.5])
def test_impossible_numbers_to_keep_are_refused(m):
    with pytest.raises(InputError, match="m = "):
        multi_krum(np.eye(5), 1, m)


def test_tight_updates_far_from_zero_are_told_apart():
    rng = np.random.default_rng(2)
    spread = rng.standard_normal((12, 3000)) * np.linspace(1, 3, 12)[:, None]
    rows = (100 + 1e-2 * spread).astype(np.float32)
    expected = oracle.best(rows, oracle.krum_scores(rows, 2))
    assert np.array_equal(krum(rows, 2), rows[expected])


def test_a_huge_attacker_does_not_blur_the_honest_distances():
    rng = np.random.default_rng(4)
    rows = (rng.standard_normal((12, 500)) * np.linspace(1, 2, 12)[:, None]).astype(np.float32)
    rows[5] = 1e30
    honest = np.delete(rows, 5, axis=0)
    assert np.array_equal(krum(rows, 1), krum(honest, 0))


@settings(max_examples=100, deadline=None)
@given(groups(2, 3))
def test_mixing_averages_the_nearest(case):
    rows, f = case
    distances = ((rows[:, None].astype(float) - rows[None]) ** 2).sum(axis=2)
    ordered = np.sort(distances, axis=1)
    kept = len(rows) - f
    clear = np.ones(len(rows), bool) if f == 0 else ordered[:, kept] > ordered[:, kept - 1] * 1.001 + 1e-6
    expected = oracle.nearest_neighbor_mixing(rows, f)
    np.testing.assert_allclose(nearest_neighbor_mixing(rows, f)[clear], expected[clear], atol=1e-5)


def test_mixing_with_a_single_client_kept_changes_nothing():
    rows = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    rows[2] = rows[1]
    assert np.array_equal(nearest_neighbor_mixing(rows, 3), rows)
