import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.oracles import robust_rules as oracle

from flockwise.aggregation import bucketing, centered_clipping, fltrust, norm_bound
from flockwise.errors import InputError

matrices = arrays(np.float32, st.tuples(st.integers(1, 9), st.just(4)), elements=st.floats(-10, 10, width=16))
vectors = arrays(np.float32, 4, elements=st.floats(-10, 10, width=16))


@settings(max_examples=150, deadline=None)
@given(matrices, vectors, st.floats(0.1, 30), st.integers(1, 5))
def test_centered_clipping_matches_its_definition(rows, start, radius, steps):
    expected = oracle.centered_clipping(rows, radius, start, steps)
    np.testing.assert_allclose(centered_clipping(rows, radius, start, steps), expected, rtol=1e-4, atol=1e-4)


def test_one_client_moves_a_step_by_its_share_of_the_radius_at_most():
    rows = np.zeros((10, 3), np.float32)
    rows[0] = 1e20
    assert np.linalg.norm(centered_clipping(rows, 2.0, steps=1)) == pytest.approx(0.2, rel=1e-5)


@settings(max_examples=150, deadline=None)
@given(matrices, st.floats(0.1, 30))
def test_norm_bound_is_the_mean_of_shortened_updates(rows, radius):
    lengths = np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    shortened = rows * np.minimum(1, radius / np.maximum(lengths, 1e-30))
    np.testing.assert_allclose(norm_bound(rows, radius), shortened.mean(axis=0), rtol=1e-4, atol=1e-5)


@settings(max_examples=150, deadline=None)
@given(matrices, vectors)
def test_fltrust_matches_its_definition(rows, root):
    cosines = [row.astype(float) @ root.astype(float) for row in rows]
    if all(abs(value) > 1e-3 or value == 0 for value in cosines):
        np.testing.assert_allclose(fltrust(rows, root), oracle.fltrust(rows, root), rtol=1e-3, atol=1e-3)


def test_nobody_trusted_gives_no_step():
    assert fltrust([[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [1.0, 0.0]).tolist() == [0.0, 0.0]
    assert fltrust([[1.0, 0.0]], [0.0, 0.0]).tolist() == [0.0, 0.0]


def test_a_long_update_has_the_length_of_the_root():
    np.testing.assert_allclose(fltrust([[1e20, 0.0]], [0.5, 0.0]), [0.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(fltrust([[1e-30, 0.0]], [0.5, 0.0]), [0.5, 0.0], rtol=1e-6)


@pytest.mark.parametrize("root", [[1.0], [np.nan, 1.0], [[1.0, 1.0]]])
def test_an_unusable_root_is_refused(root):
    with pytest.raises(InputError, match="root"):
        fltrust([[1.0, 2.0]], root)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_impossible_radii_are_refused(radius):
    for rule in (norm_bound, centered_clipping):
        with pytest.raises(InputError, match="radius"):
            rule([[1.0]], radius)


@pytest.mark.parametrize(("clients", "s", "sizes"), [(6, 2, 3), (7, 3, 3), (3, 5, 1), (4, 1, 4)])
def test_buckets_hold_everyone_once(clients, s, sizes):
    rows = np.eye(clients, dtype=np.float32)
    buckets = bucketing(rows, s, 0)
    assert buckets.shape == (sizes, clients)
    assert ((buckets > 0).sum(axis=0) == 1).all()
    np.testing.assert_allclose(buckets.sum(axis=1), 1, rtol=1e-6)


def test_buckets_depend_on_the_seed():
    rows = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
    assert np.array_equal(bucketing(rows, 2, 5), bucketing(rows, 2, 5))
    assert not np.array_equal(bucketing(rows, 2, 5), bucketing(rows, 2, 6))


@pytest.mark.parametrize("rule", [centered_clipping, norm_bound], ids=lambda rule: rule.name)
@pytest.mark.parametrize("clients", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 5])
def test_updates_shorter_than_the_radius_are_not_shortened(rule, clients, size):
    rows = np.abs(np.random.default_rng(0).standard_normal((clients, size))).astype(np.float32) * 0.1
    result = rule(rows, radius=2.0)
    assert result.shape == (size,)
    assert (result >= rows.min(axis=0) - 1e-6).all() and (result <= rows.max(axis=0) + 1e-6).all()
