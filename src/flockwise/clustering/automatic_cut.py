"""Where to cut a dendrogram when nobody knows the scale of the distances.

In many dimensions two clients of the same flock are far apart too: each carries noise of its own, which
adds about the same amount to its distance from everybody. So the largest gap between merging heights
and the plain silhouette follow the noisy clients instead of the flocks. Here that floor is subtracted
first: client i's floor is its distance to its nearest neighbour, and what is left of a distance is its
excess, near 0 within a flock and near the true difference of the flocks across. The cut with the highest
mean silhouette of the excess wins, unless some gap at least doubles the height, which is plain to see.
Clients in pieces too small for a flock first join the flock they belong to (`rejoin.py`); those that
belong to none count as 0. One flock is the answer if the best cut is no better than what chance or a
continuum gives.
"""

from collections.abc import Iterator
from math import sqrt

import numpy as np

from flockwise.clustering.rejoin import ALONE, excess, joined, least_size, others, own_and_next
from flockwise.types import Square

# Chosen on updates of real digits (40 clients, up to 5 groups, rounds 1 to 12) and on synthetic ones (6 to
# 100 clients, 1 to 10 groups); on these same data the limits kept 96 % of right cuts and 6 % of wrong ones,
# measured before clients left over could join. How it does on held-out MNIST: docs/automatic-choices.md.
LEAST_MEAN = 0.42  # silhouette of the clients in flocks
LEAST_TENTH = 0.15  # its 10 % quantile: a continuum cut in two leaves clients at the border, near 0
LEAST_IN_FLOCKS = 0.7  # share of the clients
LEAST_PLAIN = 0.8  # plain silhouette times the number of clients: among few, pairs are close by chance
LEAST_MEAN_SIZE = 0.8  # of all flocks of a cut, in square roots of the number of clients
JOINED = 0.5  # of its silhouette counts for a client that had to join, or cuts into crumbs would win
MOST_PIECES = 100  # flocks and clients left over
PLAIN_GAP = 2.0  # a gap with this ratio of heights needs no statistics; noise alone stays below 1.5


def automatic_threshold(distance: Square, merges: np.ndarray) -> float:
    """A height between two merges of the dendrogram that cuts it into its flocks and clients left over.

    Finds flocks of at least sqrt(clients) / 2 and on average 0.8 sqrt(clients) members, so at least four
    clients are needed for more than one flock. For L1 and L2, clients whose updates are much longer than
    the others' form a flock of their own; cosine does not see lengths.
    """
    count = len(distance)
    if count < 4:
        return float(merges[-1, 2]) if len(merges) else 0.0
    if (gap := _plain_gap(merges)) is not None:
        return gap
    from scipy.cluster import hierarchy  # here, because importing it is slow

    leaves = hierarchy.leaves_list(merges)
    ordered = distance[np.ix_(leaves, leaves)]
    sums = _running_sums(excess(ordered)), _running_sums(ordered)
    heights = merges[:, 2]
    best, threshold, chosen = 0.0, float(heights[-1]), None
    for pieces, starts in _cuts(merges):
        below, above = heights[count - pieces - 1], heights[count - pieces]
        if above <= below or not _large_enough(starts, count):  # equal heights cannot be told apart
            continue
        silhouettes = _silhouettes(sums, starts)
        mean = float(silhouettes[0].mean())
        if mean > best + 1e-9:
            best, threshold, chosen = mean, float(below + above) / 2, silhouettes
    return threshold if chosen is not None and _clear(*chosen) else float(heights[-1])


def _clear(values: np.ndarray, plain: np.ndarray, placed: np.ndarray) -> bool:
    return bool(
        placed.mean() >= LEAST_IN_FLOCKS
        and values[placed].mean() >= LEAST_MEAN
        and np.quantile(values[placed], 0.1) >= LEAST_TENTH
        and plain.sum() >= LEAST_PLAIN
    )


def _plain_gap(merges: np.ndarray) -> float | None:
    heights, count = merges[:, 2], len(merges) + 1
    ratios = {
        pieces: heights[count - pieces] / heights[count - pieces - 1]
        for pieces, starts in _cuts(merges)
        if heights[count - pieces - 1] > 0 and _large_enough(starts, count)
    }
    best = max(ratios, key=lambda pieces: ratios[pieces], default=None)
    if best is None or ratios[best] < PLAIN_GAP:
        return None
    return float(heights[count - best] + heights[count - best - 1]) / 2


def _large_enough(starts: np.ndarray, count: int) -> bool:
    sizes = np.diff(np.append(starts, count))
    flocks = sizes[sizes >= least_size(count)]
    return len(flocks) > 1 and float(flocks.mean()) >= LEAST_MEAN_SIZE * sqrt(count)


def _running_sums(matrix: Square) -> Square:
    sums = np.zeros((len(matrix), len(matrix) + 1))
    np.cumsum(matrix, axis=1, out=sums[:, 1:])
    return sums


def _cuts(merges: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """For 2, 3, ... pieces: where each begins in the order of the leaves."""
    count = len(merges) + 1
    begin = np.zeros(2 * count - 1, dtype=np.int64)
    starts = [0]
    for pieces in range(2, min(count // 2, MOST_PIECES) + 1):
        node = 2 * count - pieces  # the highest merge that is still whole
        left, right = merges[node - count, :2].astype(np.int64)
        size = 1 if left < count else int(merges[left - count, 3])
        begin[left], begin[right] = begin[node], begin[node] + size
        starts.append(int(begin[right]))
        yield pieces, np.sort(starts)


def _silhouettes(
    sums: tuple[Square, Square], starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Silhouettes of the leaves in excess and in distance, 0 for one in no flock, and who is in flocks."""
    rows = np.arange(len(sums[0]))
    ends = np.append(starts[1:], len(rows))
    large = ends - starts >= least_size(len(rows))
    starts, ends = starts[large], ends[large]
    core = (rows[:, None] >= starts) & (rows[:, None] < ends)
    totals = [running[:, ends] - running[:, starts] for running in sums]
    flock = joined(totals[0] / others(core), totals[1] / others(core), core)
    member = flock[:, None] == np.arange(len(starts))
    late = np.flatnonzero(member.any(axis=1) & ~core.any(axis=1))
    values = []
    for running, total in zip(sums, totals, strict=True):
        total += (running[:, late + 1] - running[:, late]) @ member[late]
        own, other = own_and_next(total / others(member), flock)
        scale = np.maximum(np.maximum(own, other), np.finfo(np.float64).tiny)
        values.append(np.where(flock == ALONE, 0.0, (other - own) / scale))
    values[0][late] *= JOINED
    return values[0], values[1], flock != ALONE
