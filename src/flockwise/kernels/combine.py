"""Weighted sums of rows, and lengths of rows, in one pass over the matrix each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.kernels.stored import Matrix, StoredRows, by_columns, by_rows
from flockwise.types import Updates, Vector

BLOCK = 16384
TILE = 8
SMALL = 1 << 18  # numbers; below this the plain NumPy call is cheaper than blocks


def weighted_sum(rows: Matrix, coefficients: Any) -> Vector:
    """The sum of coefficient times row; refuses rows that are not finite.

    A NaN or Inf anywhere reaches the result, so checking the result is enough.
    """
    if isinstance(rows, StoredRows):
        return by_columns(lambda block: weighted_sum(block, coefficients), rows)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = np.ascontiguousarray(coefficients, dtype=np.float32)
        compiled = native.weighted_sum(rows, weights)
        result, finite = _weighted_sum(rows, weights) if compiled is None else compiled
    if not finite:
        refuse_not_finite(rows)
        # All inputs are finite, so float32 overflowed on the way; a convex combination fits again.
        result = (np.asarray(coefficients, dtype=np.float64) @ rows.astype(np.float64)).astype(np.float32)
    return result


def _weighted_sum(rows: Updates, weights: Vector) -> tuple[Vector, bool]:
    if rows.size <= SMALL:
        small: Vector = np.einsum("k,kd->d", weights, rows)
        return small, _finite(small)
    result = np.empty(rows.shape[1], dtype=np.float32)

    def work(pieces: list[slice]) -> None:
        for piece in pieces:
            np.matmul(weights, rows[:, piece], out=result[piece])

    each_chunk(work, blocks(rows.shape[1], BLOCK), rows.size)
    return result, _finite(result)


def _finite(vector: Vector) -> bool:
    """Whether all numbers are finite; a product with itself is four times as fast as asking each."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(vector @ vector) or np.isfinite(vector).all())


def squared_lengths(rows: Matrix, origin: Vector | None = None) -> NDArray[np.float64]:
    """The squared length of each row (minus `origin`); refuses rows that are not finite."""
    if isinstance(rows, StoredRows):
        return by_rows(lambda block: squared_lengths(block, origin), rows)
    with np.errstate(over="ignore", invalid="ignore"):
        compiled = native.squared_lengths(rows, origin)
        lengths = _lengths(rows, origin, np.float32) if compiled is None else compiled
        doubtful = ~np.isfinite(lengths) | (lengths < 1e-28 * rows.shape[1])
        if doubtful.any():
            refuse_not_finite(rows)
            lengths[doubtful] = _lengths(np.ascontiguousarray(rows[doubtful]), origin, np.float64)
    return lengths


def dots(rows: Matrix, vector: Vector) -> NDArray[np.float64]:
    """The inner product of each row with the vector, summed in float64 over column blocks."""
    if isinstance(rows, StoredRows):
        return by_rows(lambda block: dots(block, vector), rows)
    pieces = blocks(rows.shape[1], BLOCK)
    partial = np.empty((len(pieces), len(rows)))

    def work(some: list[slice]) -> None:
        for piece in some:
            partial[piece.start // BLOCK] = rows[:, piece] @ vector[piece]

    with np.errstate(over="ignore", invalid="ignore"):
        each_chunk(work, pieces, rows.size)
    total: NDArray[np.float64] = partial.sum(axis=0)
    doubtful = ~np.isfinite(total) | (
        np.abs(total) < 1e-28 * rows.shape[1]
    )  # over or below what float32 holds
    if doubtful.any():
        refuse_not_finite(rows)
        total[doubtful] = rows[doubtful].astype(np.float64) @ vector.astype(np.float64)
    return total


def _lengths(rows: Updates, origin: Vector | None, precision: type) -> NDArray[np.float64]:
    if origin is None and precision is np.float32 and rows.shape[1] <= BLOCK and rows.size <= SMALL:
        small: NDArray[np.float64] = np.einsum("kd,kd->k", rows, rows).astype(np.float64)
        return small
    pieces = blocks(rows.shape[1], BLOCK)
    partial = np.empty((len(pieces), len(rows)))

    def work(some: list[slice]) -> None:
        # A few rows at a time, so that their differences are still in the cache when they are squared.
        buffer = np.empty((TILE, min(BLOCK, rows.shape[1])), dtype=precision)
        for piece in some:
            for tile in blocks(len(rows), TILE):
                block: NDArray[Any] = rows[tile, piece]
                if origin is not None or precision is np.float64:
                    space = buffer[: len(block), : block.shape[1]]
                    block = np.subtract(
                        block, 0 if origin is None else origin[piece], out=space, dtype=precision
                    )
                partial[piece.start // BLOCK, tile] = np.einsum("kd,kd->k", block, block)

    each_chunk(work, pieces, 2 * rows.size)
    total: NDArray[np.float64] = partial.sum(axis=0)
    return total
