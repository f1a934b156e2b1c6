"""Flocks between which there is no valley are one: a cloud that was cut, not two kinds of clients.

A graph of nearest neighbours has communities also where clients differ by chance, or by degrees, such as in which labels
they happen to hold. Along the line from one flock's mean to the other's, two kinds are two hills with a valley between
them. One cloud cut into many pieces has shallow valleys too, the deeper the more pieces: how deep is known from drawing
such a cloud. Means come from one half of the clients and the view from the other, or noise alone would make hills.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.clustering.checks import in_order
from flockwise.clustering.crowd import sums_by
from flockwise.rng import generator
from flockwise.types import Labels, Updates

SEEN = 100_000  # clients at most
LEAST_SEEN = 20  # of each flock, or nothing can be told of it
WIDE = 0.15  # of the way between two means, to each side: what counts as the middle, and as a hill
SHALLOW = 0.75  # of the height that is left between pieces of one cloud
CLOUD = 200_000  # points that are drawn to know it


def without_shallow_valleys(units: Updates, labels: Labels, seed: int = 0) -> Labels:
    """Labels after flocks were joined that have no valley between them, or between each and others that are joined."""
    from scipy.sparse.csgraph import connected_components

    labels = in_order(labels)
    flocks = int(labels.max()) + 1
    if flocks < 2:
        return labels
    order = generator(seed, "halves").permutation(len(labels))
    known, seen = order[: len(order) // 2], np.sort(order[len(order) // 2 :][:SEEN])
    sizes = np.maximum(np.bincount(labels[known], minlength=flocks), 1)
    means = (sums_by(units[known], labels[known], flocks) / sizes[:, None]).astype(np.float32)
    shallow = heights(units[seen] @ means.T, nearest_of(units[seen], means)) >= SHALLOW * cloud_height(flocks)
    return in_order(connected_components(shallow, directed=False)[1][labels])


def nearest_of(rows: Updates, means: Updates) -> Labels:
    """The mean that each row is nearest to."""
    return np.asarray((rows @ means.T - (means**2).sum(axis=1) / 2).argmax(axis=1))


def heights(products: NDArray[Any], home: Labels) -> NDArray[np.float64]:
    """(flocks, flocks) how high it is midway between two flocks, their hills being 1; 0 where too few are seen.

    From the products (clients, flocks) of clients with the flocks' means.
    """
    flocks = products.shape[1]
    members = [products[home == flock] for flock in range(flocks)]
    found = np.zeros((flocks, flocks))
    for one in range(flocks):
        for other in range(one):
            if min(len(members[one]), len(members[other])) >= LEAST_SEEN:
                sides = [some[:, one] - some[:, other] for some in (members[one], members[other])]
                found[one, other] = found[other, one] = _height(*sides)
    return found


def _height(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Of two flocks along a line; both count the same, however many they are."""
    tops = float(other.mean()), float(one.mean())
    if tops[1] <= tops[0]:
        return np.inf
    places = [(side - tops[0]) / (tops[1] - tops[0]) for side in (one, other)]  # 0 and 1 at the hills
    middle, low, high = (
        sum(float((np.abs(side - place) < WIDE).mean()) for side in places) for place in (0.5, 0.0, 1.0)
    )
    return middle / max((low + high) / 2, 1e-9)


@cache
def cloud_height(pieces: int) -> float:
    """The same between two of so many pieces that one round cloud was cut into."""
    drawn = generator(0, "cloud", pieces).standard_normal((CLOUD, pieces), dtype=np.float32)
    home = drawn.argmax(axis=1)
    line = drawn[:, 0] - drawn[:, 1]
    return _height(line[home == 0], line[home == 1])
