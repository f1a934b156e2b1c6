"""Where to cut a dendrogram when nobody knows the scale of the distances.

In many dimensions two clients of the same flock are far apart too: each carries noise of its own, which
adds about the same amount to its distance from everybody. So the largest gap between merging heights
and the plain silhouette follow the noisy clients instead of the flocks. Here that floor is subtracted
first: client i's floor is its distance to its nearest neighbour, and what is left of a distance is its
excess, near 0 within a flock and near the true difference of the flocks across. The cut with the highest
mean silhouette of the excess wins. Clients that a cut leaves alone count as 0 and are nobody's neighbours.

One flock is the answer if the best cut is no better than what chance or a continuum gives.
"""

from collections.abc import Iterator

import numpy as np
from scipy.cluster import hierarchy

from flockwise.types import Square

# Over synthetic updates (4 to 100 clients, 1 to 10 groups, L1, L2 and cosine, all linkages) the mean
# silhouette of the excess was above these limits with groups and below without; a continuum cut in two
# leaves clients at the border, with a silhouette near 0, where groups leave few.
LEAST_MEAN = 0.25  # over all clients
LEAST_MEAN_TOGETHER = 0.38  # over the clients that are not alone
LEAST_TENTH = 0.05  # the 10 % quantile of the same
LEAST_PLAIN = 0.8  # divided by the number of clients: among few, pairs are close by chance
MOST_FLOCKS = 100


def automatic_threshold(distance: Square, merges: np.ndarray) -> float:
    """A height between two merges of the dendrogram that cuts it into its flocks.

    Needs at least four clients to find more than one flock. For L1 and L2, clients whose updates are much
    longer than the others' form a flock of their own; cosine does not see lengths.
    """
    count = len(distance)
    if count < 4:
        return float(merges[-1, 2]) if len(merges) else 0.0
    leaves = hierarchy.leaves_list(merges)
    ordered = distance[np.ix_(leaves, leaves)]
    excess_sums, plain_sums = _running_sums(_excess(ordered)), _running_sums(ordered)
    heights = merges[:, 2]
    best, threshold, chosen = LEAST_MEAN, float(heights[-1]), None
    for flocks, starts in _cuts(merges):
        below, above = heights[count - flocks - 1], heights[count - flocks]
        if above <= below:  # merges of equal height cannot be told apart
            continue
        mean = float(_silhouettes(excess_sums, starts)[0].mean())
        if mean > best + 1e-9:
            best, threshold, chosen = mean, float(below + above) / 2, starts
    if chosen is None:
        return float(heights[-1])
    values, together = _silhouettes(excess_sums, chosen)
    plain, _ = _silhouettes(plain_sums, chosen)
    inside = values[together]
    clear = inside.mean() >= LEAST_MEAN_TOGETHER and np.quantile(inside, 0.1) >= LEAST_TENTH
    return threshold if clear and plain.mean() >= LEAST_PLAIN / count else float(heights[-1])


def _excess(distance: Square) -> Square:
    others = distance + np.diag(np.full(len(distance), np.inf))
    floor = others.min(axis=1)
    # a distance holds half the typical floor once for each of its two clients
    excess = distance - floor[:, None] - floor[None, :] + np.median(floor)
    np.fill_diagonal(excess, 0.0)
    clipped: Square = np.maximum(excess, 0.0)
    return clipped


def _running_sums(matrix: Square) -> Square:
    sums = np.zeros((len(matrix), len(matrix) + 1))
    np.cumsum(matrix, axis=1, out=sums[:, 1:])
    return sums


def _cuts(merges: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """For 2, 3, ... flocks: where each begins in the order of the leaves."""
    count = len(merges) + 1
    begin = np.zeros(2 * count - 1, dtype=np.int64)
    starts = [0]
    for flocks in range(2, min(count // 2, MOST_FLOCKS) + 1):
        node = 2 * count - flocks  # the highest merge that is still whole
        left, right = merges[node - count, :2].astype(np.int64)
        size = 1 if left < count else int(merges[left - count, 3])
        begin[left], begin[right] = begin[node], begin[node] + size
        starts.append(int(begin[right]))
        yield flocks, np.sort(starts)


def _silhouettes(sums: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Silhouette of each leaf, 0 for one alone, and which leaves are not alone."""
    count = len(sums)
    ends = np.append(starts[1:], count)
    sizes = ends - starts
    flock = np.repeat(np.arange(len(starts)), sizes)
    toward = sums[:, ends] - sums[:, starts]
    rows = np.arange(count)
    own = toward[rows, flock] / np.maximum(sizes[flock] - 1, 1)
    other = toward / sizes
    other[rows, flock] = np.inf
    other[:, sizes == 1] = np.inf
    nearest = other.min(axis=1)
    together = sizes[flock] > 1
    usable = together & np.isfinite(nearest) & (np.maximum(own, nearest) > 0)
    values = np.zeros(count)
    values[usable] = (nearest[usable] - own[usable]) / np.maximum(own, nearest)[usable]
    return values, together
