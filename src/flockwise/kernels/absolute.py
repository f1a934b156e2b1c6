"""Sums of absolute differences of all pairs of rows.

Large inputs go to the compiled kernels where there are any. With NumPy, |a - b| = 2 max(a, b) - a - b needs two
passes for a pair, a maximum and a sum, where the plain formula needs three; pairs that are close compared with
their size are taken again relative to one of them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.gram import CLOSE, PARTS, connected_groups
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Square, Updates

WIDTH = 16384  # below 8192, NumPy's broadcasting goes through a buffer and takes twice as long
TILE = 8  # rows; their maxima with another row stay in the cache until they are summed


def absolute_distances(rows: Updates) -> Square:
    """The L1 distance of all pairs of rows; refuses rows that are not finite."""
    compiled = native.pair_sums("differences", rows) if len(rows) > 1 else None
    if compiled is not None and np.isfinite(compiled).all():
        return compiled
    with np.errstate(over="ignore", invalid="ignore"):
        maxima, sums, sizes = _summed(rows, np.float32)
        if not (np.isfinite(sizes).all() and np.isfinite(maxima).all()):
            refuse_not_finite(rows)
            maxima, sums, sizes = _summed(rows, np.float64)
    upper = np.triu(2.0 * maxima - sums[:, None] - sums[None, :], 1)
    distances = np.maximum(upper + upper.T, 0.0)
    close = distances < CLOSE * (sizes[:, None] + sizes[None, :])
    np.fill_diagonal(close, False)
    if not close.any():
        return distances
    for members in connected_groups(close):
        anchor = members[np.argmin(distances[np.ix_(members, members)].sum(axis=1))]
        distances[np.ix_(members, members)] = absolute_distances(rows[members] - rows[anchor])
    return distances


def _summed(rows: Updates, precision: type) -> tuple[Square, NDArray[np.float64], NDArray[np.float64]]:
    """Sums of the maxima of all pairs (above the diagonal), of the rows and of their absolute values."""
    clients, size = rows.shape
    pieces = blocks(size, WIDTH)
    count = min(PARTS, len(pieces), max(1, 2**24 // clients**2))
    maxima = np.zeros((count, clients, clients))
    sums = np.zeros((count, 2, clients))

    def work(parts: list[slice]) -> None:
        for part in parts:
            number = part.start
            for piece in pieces[len(pieces) * number // count : len(pieces) * (number + 1) // count]:
                _add_block(rows[:, piece].astype(precision), maxima[number], sums[number])

    each_chunk(work, blocks(count, 1), rows.size * clients)
    totals = sums.sum(axis=0)
    return np.asarray(maxima.sum(axis=0)), totals[0], totals[1]


def _add_block(block: NDArray[Any], maxima: Square, sums: NDArray[np.float64]) -> None:
    clients, width = block.shape
    buffer = np.empty((TILE, width), dtype=block.dtype)
    ones = np.ones(width, dtype=block.dtype)
    for tile in blocks(clients, TILE):
        members = block[tile]
        larger = buffer[: len(members)]
        sums[0, tile] += members @ ones
        sums[1, tile] += np.abs(members, out=larger) @ ones
        for other in range(tile.stop - 1):
            maxima[other, tile] += np.maximum(members, block[other], out=larger) @ ones
