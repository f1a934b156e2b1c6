"""Calls of the compiled kernels over column blocks in threads; the bits do not depend on the threads."""

import ctypes
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.native.loading import library
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Square, Updates, Vector

WIDTH = 4096  # columns; a multiple of the kernels' own blocks
PARTS = 8  # fixed number of partial sums, so that the order of summation does not depend on the threads
MOST_SORTED = 4096  # rows; above, a register of columns is far beyond the first cache

FOLDED = 16  # rows; a thread takes some of these

_NOT_FINITE, _NO_MEMORY = 1, 2


def middle_mean(rows: Updates, cut: int) -> Vector | None:
    """The mean of every column without the lowest and highest `cut` values; refuses NaN and Inf.

    The median is the same bit for bit as with NumPy. Other sums run in float64, so they are off by no more than
    the last rounding, and another order of clients can change at most that.
    """
    return _of_columns("flockwise_middle", rows, np.arange(len(rows)), cut)


def closest_mean(rows: Updates, members: NDArray[np.intp], kept: int) -> Vector | None:
    """Of these rows, the mean of the `kept` values of every column closest to its median."""
    return _of_columns("flockwise_closest", rows, members, kept)


def weighted_sum(rows: Updates, weights: Vector) -> tuple[Vector, bool] | None:
    """The sum of weight times row in float32, and whether it is finite; it is not if a row is not."""
    kernels = library(rows.size)
    if kernels is None:
        return None
    size = rows.shape[1]
    result = np.empty(size, dtype=np.float32)
    codes: list[int] = []

    def work(pieces: list[slice]) -> None:
        start, stop = pieces[0].start, pieces[-1].stop
        call: Any = kernels.flockwise_weighted
        codes.append(call(_at(rows), size, len(rows), _at(weights), start, stop, _at(result)))

    each_chunk(work, blocks(size, WIDTH), rows.size)
    return result, not any(codes)


def pair_sums(kind: str, rows: Updates, center: Vector | None = None) -> Square | None:
    """Sums of all pairs of rows (minus `center`): their "products" or absolute "differences".

    In float32 over 1024 columns, then in float64. NaN, Inf and overflow reach the result.
    """
    upper = _summed(f"flockwise_{kind}", rows, center, (len(rows), len(rows)))
    return None if upper is None else np.asarray(upper + np.triu(upper, 1).T)


def squared_lengths(rows: Updates, center: Vector | None = None) -> NDArray[np.float64] | None:
    """The sums of the squares of each row (minus `center`), summed as above."""
    return _summed("flockwise_lengths", rows, center, (len(rows),))


def fold(columns: Updates, signs: Vector, turns: NDArray[np.int64], first: int, total: Updates) -> bool:
    """Add columns to the sketches of their rows; says if it was done."""
    kernels = library(columns.size)
    if kernels is None:
        return False

    def work(pieces: list[slice]) -> None:
        some = slice(pieces[0].start, pieces[-1].stop)
        _folded(kernels, columns[some], signs, turns, first, total[some])

    each_chunk(work, blocks(len(columns), FOLDED), columns.size)
    return True


def _folded(
    kernels: Any, columns: Updates, signs: Vector, turns: NDArray[np.int64], first: int, total: Updates
) -> None:
    kernels.flockwise_fold(
        _at(columns), columns.strides[0] // 4, len(columns), _at(signs), _at(turns), first, columns.shape[1],
        total.shape[1], _at(total),
    )  # fmt: skip


def _summed(
    name: str, rows: Updates, center: Vector | None, shape: tuple[int, ...]
) -> NDArray[np.float64] | None:
    kernels = library(rows.size)
    if kernels is None:
        return None
    clients, size = rows.shape
    numbers = math.prod(shape)
    pieces = blocks(size, WIDTH)
    count = min(PARTS, len(pieces), max(1, 2**24 // numbers))
    partial = np.zeros((count, *shape))
    codes = [0] * count

    def work(parts: list[slice]) -> None:
        for part in parts:
            number = part.start
            some = pieces[len(pieces) * number // count : len(pieces) * (number + 1) // count]
            call: Any = getattr(kernels, name)
            codes[number] = call(
                _at(rows), size, clients, _at(center), some[0].start, some[-1].stop, _at(partial[number])
            )

    each_chunk(work, blocks(count, 1), rows.size * max(numbers // clients // 4, 1))
    return None if _NO_MEMORY in codes else np.asarray(partial.sum(axis=0))


def _of_columns(name: str, rows: Updates, members: NDArray[np.intp], number: int) -> Vector | None:
    kernels = library(len(members) * rows.shape[1]) if len(members) <= MOST_SORTED else None
    if kernels is None:
        return None
    size = rows.shape[1]
    places = np.ascontiguousarray(members, dtype=np.int64)
    result = np.empty(size, dtype=np.float32)
    codes: list[int] = []

    def work(pieces: list[slice]) -> None:
        start, stop = pieces[0].start, pieces[-1].stop
        call: Any = getattr(kernels, name)
        codes.append(call(_at(rows), size, _at(places), len(places), start, stop, number, _at(result)))

    each_chunk(work, blocks(size, WIDTH), 8 * rows.size)
    if _NOT_FINITE in codes:
        refuse_not_finite(rows)
    return None if _NO_MEMORY in codes else result


def _at(array: NDArray[Any] | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)
