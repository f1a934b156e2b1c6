"""Sums, lengths and inner products of rows beside the plain formula in float64, in blocks and at the ends of float32."""

import numpy as np
import pytest

from flockwise.errors import InputError
from flockwise.kernels import combine
from flockwise.kernels.combine import BLOCK, SMALL, dots, squared_lengths, weighted_sum
from flockwise.kernels.gram import cross, direct_distances, gram, squared_distances
from flockwise.rng import generator

# Small enough for one call; of several blocks of columns; of several tiles of rows, with an odd one left.
SHAPES = [(1, 1), (3, 5), (9, 40), (3, BLOCK + 7), (17, 2 * BLOCK + 1), (2, SMALL)]


def rows_of(shape: tuple[int, int], scale: float = 1.0) -> np.ndarray:
    return (generator(1, "rows").standard_normal(shape) * scale).astype(np.float32)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_lengths_and_products_are_those_of_the_formula(shape: tuple[int, int]) -> None:
    rows, random = rows_of(shape), generator(2, "weights")
    exact, weights, vector = rows.astype(np.float64), random.random(shape[0]), rows[0] * np.float32(0.5)
    size = np.abs(exact).sum(axis=0).max()
    np.testing.assert_allclose(weighted_sum(rows, weights), weights @ exact, rtol=1e-5, atol=1e-6 * size)
    np.testing.assert_allclose(squared_lengths(rows), (exact**2).sum(axis=1), rtol=1e-5)
    away = exact - vector.astype(np.float64)
    np.testing.assert_allclose(squared_lengths(rows, vector), (away**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        dots(rows, vector), exact @ vector.astype(np.float64), rtol=1e-4, atol=1e-4 * shape[1] ** 0.5
    )
    np.testing.assert_allclose(gram(rows), exact @ exact.T, rtol=1e-4, atol=1e-4 * shape[1] ** 0.5)
    np.testing.assert_allclose(gram(rows, vector), away @ away.T, rtol=1e-4, atol=1e-4 * shape[1] ** 0.5)
    members = np.arange(shape[0])[::2]
    np.testing.assert_allclose(
        cross(rows, rows, members), exact @ exact[members].T, rtol=1e-4, atol=1e-4 * shape[1] ** 0.5
    )


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e19, 1e30])
@pytest.mark.parametrize("shape", [(3, 5), (9, BLOCK + 3)])
def test_what_float32_cannot_square_is_right_all_the_same(shape: tuple[int, int], scale: float) -> None:
    rows = rows_of(shape, scale)
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(squared_lengths(rows), (exact**2).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        squared_lengths(rows, rows[0])[1:], ((exact - exact[0]) ** 2).sum(axis=1)[1:], rtol=1e-5
    )
    largest = (exact**2).sum(axis=1).max()
    np.testing.assert_allclose(gram(rows), exact @ exact.T, rtol=1e-4, atol=1e-5 * largest)
    np.testing.assert_allclose(dots(rows, rows[0]), exact @ exact[0], rtol=1e-4, atol=1e-5 * largest)
    if scale >= 1e-20:  # products of what is smaller are left at nothing
        those = np.arange(2)
        np.testing.assert_allclose(
            cross(rows, rows, those), exact @ exact[:2].T, rtol=1e-4, atol=1e-5 * largest
        )


def test_a_sum_that_overflows_on_the_way_fits_again() -> None:
    rows = np.array([[3e38, 1.0], [3e38, 1.0], [-3e38, 1.0]], np.float32)
    assert weighted_sum(rows, [1.0, 1.0, 1.0]).tolist() == [np.float32(3e38), 3.0]
    assert weighted_sum(rows, np.full(3, 1 / 3)).tolist() == pytest.approx([1e38, 1.0])


def test_a_long_sum_is_finite_although_its_square_is_not() -> None:
    assert weighted_sum(np.full((1, 4), 1e30, np.float32), [1.0]).tolist() == [np.float32(1e30)] * 4


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(3, 5), (9, BLOCK + 3)])
def test_rows_that_are_not_finite_are_named(shape: tuple[int, int], bad: float) -> None:
    rows = rows_of(shape)
    rows[1, -1] = bad
    for work in (
        lambda: weighted_sum(rows, np.ones(shape[0])), lambda: squared_lengths(rows), lambda: squared_lengths(rows, rows[0]),
        lambda: dots(rows, rows[0]), lambda: gram(rows), lambda: gram(rows, rows[0]), lambda: squared_distances(rows),
    ):  # fmt: skip
        with pytest.raises(InputError, match=rf"^updates\[1, {shape[1] - 1}\]"):
            work()


@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-6])
def test_distances_of_rows_close_together_are_right(apart: float) -> None:
    shape = (7, 300)
    base = rows_of((1, 300), 10.0)
    rows = (base + apart * rows_of(shape)).astype(np.float32)
    rows[5] = rows[2]
    exact = rows.astype(np.float64)
    expected = ((exact[:, None] - exact[None]) ** 2).sum(axis=2)
    found = squared_distances(rows)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-30)
    assert (np.diagonal(found) == 0).all() and found[2, 5] == 0 and np.array_equal(found, found.T)


def test_pairs_that_lost_their_digits_are_told() -> None:
    products = np.array([[1.0, 0.995, 0.0], [0.995, 1.0, 0.5], [0.0, 0.5, 1.0]])
    distances, close = direct_distances(products)
    np.testing.assert_allclose(distances, [[0, 0.01, 2], [0.01, 0, 1], [2, 1, 0]], atol=1e-12)
    assert close.tolist() == [[False, True, False], [True, False, False], [False, False, False]]
    edge = np.array([[1.0, 0.98], [0.98, 1.0]])  # 0.04 = CLOSE times the sum of the squared lengths
    assert not direct_distances(edge)[1].any()


def test_rows_of_zeros_have_no_length() -> None:
    rows = np.zeros((2, 5), np.float32)
    assert squared_lengths(rows).tolist() == [0, 0] and gram(rows).tolist() == [[0, 0], [0, 0]]
    assert squared_distances(rows).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("numbers", "finite"),
    [([1.0, 2.0], True), ([1e30, -1e30], True), ([np.nan, 1.0], False), ([-np.inf, 1.0], False)],
)
def test_a_sum_is_finite_if_all_its_numbers_are(numbers: list[float], finite: bool) -> None:
    assert combine._finite(np.array(numbers, np.float32)) is finite


@pytest.mark.parametrize("scale", [1.0, 1e-10])
def test_rows_that_float32_can_square_are_not_looked_at_twice(
    scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(rows: np.ndarray) -> None:
        raise AssertionError("looked at again")

    rows = rows_of((4, 50), scale)
    monkeypatch.setattr(combine, "refuse_not_finite", again)
    weighted_sum(rows, np.ones(4))
    squared_lengths(rows)
    squared_lengths(rows, np.zeros(50, np.float32))
    dots(rows, rows.sum(axis=0))
