"""Rules that leave clients out, held to their definitions in tests/oracles/filtering_rules.py."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.oracles import filtering_rules as oracle

from flockwise.aggregation import (
    adaptive_clipping,
    caf,
    clipping,
    dnc,
    flame,
    mda,
    meamed,
    monna,
    signguard,
    smea,
)
from flockwise.aggregation.mda import smallest_diameter
from flockwise.aggregation.signguard import sign_shares
from flockwise.kernels.gram import squared_distances


@st.composite
def groups(draw, most=3):
    """Small whole numbers (many exact ties) or real ones, with duplicates, and a fitting f."""
    f = draw(st.integers(0, most))
    clients = draw(st.integers(2 * f + 1, 2 * f + 4))
    elements = draw(st.sampled_from([st.integers(-2, 2).map(float), st.floats(-10, 10, width=16)]))
    return draw(arrays(np.float32, (clients, draw(st.integers(1, 5))), elements=elements)), f


def spread(clients, size=20, seed=0):
    return np.random.default_rng(seed).standard_normal((clients, size)).astype(np.float32)


def attacked(clients=15, liars=4, size=50, seed=0):
    """Honest updates around one course, and liars that all go another way."""
    rng = np.random.default_rng(seed)
    rows = 1 + 0.5 * rng.standard_normal((clients, size))
    rows[:liars] = -2 + 0.3 * rng.standard_normal((liars, size))
    return rows.astype(np.float32)


@settings(max_examples=150, deadline=None)
@given(groups())
def test_mda_takes_a_subset_of_the_smallest_diameter(case):
    rows, f = case
    chosen = smallest_diameter(rows, squared_distances(rows), len(rows) - f)
    assert len(set(chosen.tolist())) == len(rows) - f
    _, least = oracle.smallest_diameters(rows, len(rows) - f)
    assert oracle.diameter(rows[chosen].astype(float)) <= least * (1 + 1e-5) + 1e-9
    np.testing.assert_allclose(mda(rows, f), rows[chosen].mean(axis=0, dtype=float), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_mda_finds_the_one_smallest_subset_of_real_updates(seed):
    rows = spread(13, seed=seed)
    subsets, _ = oracle.smallest_diameters(rows, 9)
    results = [rows[list(subset)].mean(axis=0, dtype=float) for subset in subsets]
    assert min(np.abs(mda(rows, 4) - result).max() for result in results) < 1e-6


def test_mda_of_many_clients_needs_no_list_of_subsets():
    rows = attacked(61, 30, seed=3)  # 10^17 subsets
    np.testing.assert_allclose(mda(rows, 30), rows[30:].mean(axis=0, dtype=float), atol=1e-5)


def test_a_search_that_takes_too_long_settles_for_twice_the_diameter(monkeypatch):
    monkeypatch.setattr(sys.modules["flockwise.aggregation.mda"], "STEPS", 3)
    rows = spread(12, seed=2)
    chosen = smallest_diameter(rows, squared_distances(rows), 8)
    _, least = oracle.smallest_diameters(rows, 8)
    assert len(set(chosen.tolist())) == 8
    assert oracle.diameter(rows[chosen].astype(float)) <= 4 * least  # squared


@settings(max_examples=60, deadline=None)
@given(groups(2))
def test_smea_takes_a_subset_that_is_stretched_least(case):
    rows, f = case
    results = [rows[list(s)].mean(axis=0, dtype=float) for s in oracle.least_stretched(rows, len(rows) - f)]
    assert min(np.abs(smea(rows, f) - result).max() for result in results) < 1e-4


def test_smea_with_too_many_subsets_leaves_liars_out_one_by_one():
    rows = attacked(31, 8, seed=1)  # 7,888,725 subsets
    np.testing.assert_allclose(smea(rows, 8), rows[8:].mean(axis=0, dtype=float), atol=1e-5)


@pytest.mark.parametrize(("clients", "f", "seed"), [(9, 2, 0), (12, 3, 1), (20, 6, 2), (15, 7, 3)])
def test_caf_matches_its_definition(clients, f, seed):
    rows = spread(clients, seed=seed)
    rows[:f] += 3
    np.testing.assert_allclose(caf(rows, f), oracle.caf(rows, f), atol=1e-5)


def test_caf_is_not_held_up_by_a_client_that_has_lost_its_weight():
    rows = spread(11, seed=0)
    rows[0] = 1e4  # if it went on setting the scale, nobody else would ever lose weight
    assert np.abs(caf(rows, 2)).max() < 3


@pytest.mark.parametrize(("clients", "f", "seed"), [(9, 2, 0), (12, 3, 1), (20, 6, 2)])
def test_dnc_matches_its_definition(clients, f, seed):
    rows = spread(clients, seed=seed)
    rows[:f] += 3
    np.testing.assert_allclose(dnc(rows, f), oracle.dnc(rows, f), atol=1e-6)


def test_dnc_draws_coordinates_of_its_own_by_the_seed():
    rows = attacked(15, 4, 400)
    rows[:4, :200] = rows[4:8, :200]  # the lie is in half of the coordinates
    results = [dnc(rows, 4, draws=1, coordinates=3, seed=seed) for seed in range(20)]
    assert len({result.tobytes() for result in results}) > 1
    assert dnc(rows, 4, coordinates=100, seed=1).tobytes() == dnc(rows, 4, coordinates=100, seed=1).tobytes()
    np.testing.assert_allclose(dnc(rows, 4, coordinates=100), rows[4:].mean(axis=0, dtype=float), atol=1e-5)


@settings(max_examples=150, deadline=None)
@given(groups())
def test_meamed_matches_its_definition(case):
    rows, f = case
    np.testing.assert_allclose(meamed(rows, f), oracle.meamed(rows, f), rtol=1e-5, atol=1e-5)


def test_monna_averages_those_nearest_to_the_root():
    rows = spread(9)
    root = rows[3] + 0.1
    nearest = np.argsort(((rows.astype(float) - root) ** 2).sum(axis=1))[:6]
    np.testing.assert_allclose(monna(rows, 3, root), rows[nearest].mean(axis=0, dtype=float), atol=1e-6)


@settings(max_examples=100, deadline=None)
@given(groups())
def test_adaptive_clipping_matches_its_definition(case):
    rows, f = case
    if f < len(rows):
        np.testing.assert_allclose(adaptive_clipping(rows, f), oracle.adaptive_clipping(rows, f), atol=1e-4)


def test_clipping_shortens_what_is_too_long_and_nothing_else():
    rows = spread(6)
    rows[0] *= 10
    short = clipping(rows, radius=6.0)
    assert np.linalg.norm(short[0]) == pytest.approx(6.0, rel=1e-5)
    assert np.array_equal(short[1:], rows[1:])


@pytest.mark.parametrize("rule", [flame, signguard])
def test_liars_of_another_direction_are_left_out(rule):
    rows = attacked(15, 4, 400)
    options = {"noise": 0.0} if rule is flame else {}
    honest = rows[4:]
    lengths = np.linalg.norm(rows, axis=1)
    clipped = honest * np.minimum(1, np.median(lengths) / lengths[4:])[:, None]
    result = rule(rows, **options)
    cosine = result @ clipped.mean(axis=0) / np.linalg.norm(result) / np.linalg.norm(clipped.mean(axis=0))
    assert cosine > 0.98
    assert np.linalg.norm(result) <= np.median(lengths) * (1 + 1e-5)


def test_flame_adds_noise_of_its_own_generator():
    rows = attacked(9, 0, 5000)
    quiet, noisy = flame(rows, noise=0.0, seed=4), flame(rows, noise=0.01, seed=4)
    median = np.median(np.linalg.norm(rows, axis=1))
    assert np.std(noisy - quiet) == pytest.approx(0.01 * median, rel=0.05)
    assert np.array_equal(noisy, flame(rows, noise=0.01, seed=4))
    assert not np.array_equal(noisy, flame(rows, noise=0.01, seed=5))


def test_flame_leaves_out_an_honest_minority_by_design():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((2, 200)), [9, 5], axis=0) + 0.2 * rng.standard_normal((14, 200))
    away = rows[9:].mean(axis=0) @ flame(rows.astype(np.float32))
    assert abs(away) < 0.2 * np.linalg.norm(rows[9:].mean(axis=0)) ** 2


def test_flame_takes_all_that_point_the_very_same_way():
    """The fourth was left out: float32 could not tell that it points where the others do."""
    numbers = [-0.88173157, -2.5174098, -2.071271, -2.9016526, 0.78868234, 8.955781, -5.675241]
    shortened = [0.88173157, 2.5174098, 2.071271, 2.5174098, 2.5174098]
    found = flame(np.array(numbers, np.float32)[:, None], noise=0.0)
    assert found[0] == pytest.approx(-sum(shortened) / 5)


def test_sign_shares_count_signs():
    rows = np.array([[1.0, 2, -1, 0], [-1, -1, -1, -1], [1, 1, 1, 1]], np.float32)
    np.testing.assert_allclose(sign_shares(rows, 1.0, 0), [[0.5, 1, 0.25], [0, 0, 1], [1, 0, 0]])


def test_signguard_takes_everyone_of_usual_length_where_nobody_passes_both_filters():
    rows = np.array([[0.001, 0.001]] * 5 + [[-1, -1]] * 3 + [[1, -1]] * 3, np.float32)
    assert np.isfinite(signguard(rows, share=1.0)).all()


def test_rules_that_search_end_where_most_distances_are_tied():
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 2, (41, 6)).astype(np.float32)  # most distances are tied
    for rule in (mda, caf, smea):
        assert np.isfinite(rule(rows, 20)).all()
