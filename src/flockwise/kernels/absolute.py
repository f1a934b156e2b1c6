"""Sums of absolute differences of all pairs of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Square, Updates

CACHE = 1 << 16  # numbers in one block of differences: 256 KB
PARTS = 8  # fixed number of partial sums, so that the order of summation does not depend on the threads


def absolute_distances(rows: Updates) -> Square:
    """The L1 distance of all pairs of rows; refuses rows that are not finite."""
    refuse_not_finite(rows)
    with np.errstate(over="ignore", invalid="ignore"):
        total = _summed(rows, np.float32)
        if not np.isfinite(total).all():
            total = _summed(rows, np.float64)
    return total + total.T


def _summed(rows: Updates, precision: type) -> Square:
    clients, size = rows.shape
    pieces = blocks(size, max(CACHE // clients, 512))
    count = min(PARTS, len(pieces))
    partial = np.zeros((count, clients, clients))

    def work(parts: list[slice]) -> None:
        for part in parts:
            number = part.start
            for piece in pieces[len(pieces) * number // count : len(pieces) * (number + 1) // count]:
                _add_block(np.ascontiguousarray(rows[:, piece], dtype=precision), partial[number])

    each_chunk(work, blocks(count, 1), rows.size * clients)
    return np.asarray(partial.sum(axis=0))


def _add_block(block: NDArray[Any], total: Square) -> None:
    clients, width = block.shape
    differences = np.empty_like(block)
    ones = np.ones(width, dtype=block.dtype)
    for client in range(clients - 1):
        rest = differences[client + 1 :]
        np.subtract(block[client + 1 :], block[client], out=rest)
        np.abs(rest, out=rest)
        total[client, client + 1 :] += rest @ ones
