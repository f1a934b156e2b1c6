"""Sorting every coordinate over the clients, a cache-sized block of columns at a time."""

from collections.abc import Callable

import numpy as np

from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Updates, Vector

CACHE = 1 << 18  # numbers in one block: 1 MB


def each_sorted_block(rows: Updates, reduce: Callable[[Updates], Vector]) -> Vector:
    """Apply `reduce` to blocks of shape (columns, clients) whose lines are sorted; refuses NaN and Inf."""
    clients, size = rows.shape
    result = np.empty(size, dtype=np.float32)

    def work(pieces: list[slice]) -> None:
        for piece in pieces:
            block = np.ascontiguousarray(rows[:, piece].T)
            block.sort(axis=1)
            # NaN sorts last and Inf to an end, so the ends tell.
            if not (np.isfinite(block[:, 0]).all() and np.isfinite(block[:, -1]).all()):
                refuse_not_finite(rows)
            result[piece] = reduce(block)

    each_chunk(work, blocks(size, max(CACHE // clients, 64)), 8 * rows.size)
    # Which of 0.0 and -0.0 comes first is not defined; adding zero makes both 0.0.
    result += np.float32(0)
    return result


def middle_mean(rows: Updates, low: int, high: int) -> Vector:
    """The mean of the sorted values `low` to `high` (exclusive) of every coordinate."""
    share = np.float32(1.0 / (high - low))

    def reduce(block: Updates) -> Vector:
        if high - low == 1:
            return block[:, low]
        with np.errstate(over="ignore"):
            mean: Vector = np.add.reduce(block[:, low:high], axis=1, keepdims=True)[:, 0] * share
        if not np.isfinite(mean).all():
            mean = np.mean(block[:, low:high], axis=1, dtype=np.float64).astype(np.float32)
        return mean

    return each_sorted_block(rows, reduce)
