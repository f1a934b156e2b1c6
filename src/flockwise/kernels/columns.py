"""Sorting every coordinate over the clients, a cache-sized block of columns at a time.

Large inputs go to the compiled kernels where there are any. With NumPy, up to NETWORK clients are sorted with
a network on rows, more with NumPy's sort of each column: measured, the network takes 0.4 times as long for 20
clients and as long for 100.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.network import sorted_rows
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.kernels.stored import Matrix, StoredRows, by_columns
from flockwise.types import Updates, Vector

Members: TypeAlias = NDArray[np.intp] | None

NETWORK = 64
WIDTH = 16384  # columns in a block of the network
CACHE = 1 << 17  # numbers in a block of the sort: 512 KB

# Times this, finite numbers cannot overflow in a sum, and NaN and Inf stay what they are.
_tiny = np.full(WIDTH, 2.0**-40, dtype=np.float32)


def each_network_block(
    rows: Updates, low: int, high: int, reduce: Callable[[list[Vector]], Vector], members: Members = None
) -> Vector:
    """Apply `reduce` to the sorted values of column blocks, a list of rows right from `low` to `high`.

    With `members`, of these rows only.
    """
    size = rows.shape[1]
    clients = len(rows) if members is None else len(members)
    result = np.empty(size, dtype=np.float32)

    def work(pieces: list[slice]) -> None:
        width = min(WIDTH, size)
        pool = [np.empty(width, dtype=np.float32) for _ in range(clients + 1)]
        for piece in pieces:
            block = rows[:, piece] if members is None else rows[members, piece]
            if not np.isfinite(block @ _tiny[: block.shape[1]]).all():
                refuse_not_finite(rows)
            result[piece] = reduce(sorted_rows(block, low, high, pool))

    with np.errstate(invalid="ignore"):
        each_chunk(work, blocks(size, WIDTH), 8 * rows.size)
    return one_zero(result)


def each_sorted_block(rows: Updates, reduce: Callable[[Updates], Vector], members: Members = None) -> Vector:
    """Apply `reduce` to blocks of shape (columns, clients) whose lines are sorted; refuses NaN and Inf."""
    size = rows.shape[1]
    clients = len(rows) if members is None else len(members)
    result = np.empty(size, dtype=np.float32)
    width = max(CACHE // clients, 64)

    def work(pieces: list[slice]) -> None:
        buffer = np.empty((min(width, size), clients), dtype=np.float32)
        for piece in pieces:
            block = buffer[: piece.stop - piece.start]
            np.copyto(block, (rows[:, piece] if members is None else rows[members, piece]).T)
            block.sort(axis=1)
            # NaN sorts last and Inf to an end, so the ends tell.
            if not (np.isfinite(block[:, 0]).all() and np.isfinite(block[:, -1]).all()):
                refuse_not_finite(rows)
            result[piece] = reduce(block)

    each_chunk(work, blocks(size, width), 8 * rows.size)
    return one_zero(result)


def middle_mean(rows: Matrix, cut: int) -> Vector:
    """The mean of every coordinate without the lowest and the highest `cut` values."""
    if isinstance(rows, StoredRows):
        return by_columns(lambda block: middle_mean(block, cut), rows)
    with np.errstate(over="ignore", invalid="ignore"):
        compiled = native.middle_mean(rows, cut)
        result = _middle_mean(rows, cut) if compiled is None else one_zero(compiled)
    overflowed = np.flatnonzero(~np.isfinite(result))
    if overflowed.size:
        middle = np.sort(rows[:, overflowed], axis=0)[cut : len(rows) - cut]
        result[overflowed] = middle.mean(axis=0, dtype=np.float64)
    return result


def _middle_mean(rows: Updates, low: int) -> Vector:
    clients = len(rows)
    high = clients - low
    share = np.float32(1.0 / (high - low))
    chosen = np.zeros(clients, dtype=np.float32)
    chosen[low:high] = 1.0

    def of_rows(values: list[Vector]) -> Vector:
        total = values[low].copy()
        for place in range(low + 1, high):
            total += values[place]
        return total * share

    def of_lines(block: Updates) -> Vector:
        if high - low <= 2:
            return (block[:, low] + block[:, high - 1]) * np.float32(0.5)
        return np.asarray((block @ chosen) * share)

    if clients <= NETWORK:
        return each_network_block(rows, low, high, of_rows)
    return each_sorted_block(rows, of_lines)


def one_zero(values: Vector) -> Vector:
    """Which of 0.0 and -0.0 comes first is not defined; adding zero makes both 0.0."""
    values += np.float32(0)
    return values
