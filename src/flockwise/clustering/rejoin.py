"""Clients that a cut of a dendrogram leaves in pieces too small for a flock.

Single linkage, above all, leaves noisy clients alone although it is plain whose they are. A client's noise
adds about the same to its distance from everybody, so it does not matter for the question how much nearer
one flock is than the next one. A client for which that is at least half of what it is for the flocks'
members joins; one that is as far from all of them (an outlier, a wolf) stays where it is, and so does one
that is much further from its nearest flock than the flocks are from each other.
"""

from math import sqrt

import numpy as np

from flockwise.clustering.checks import in_order
from flockwise.types import Labels, Square

LEAST_SIZE = 0.5  # of a flock, in square roots of the number of clients: chance makes small flocks
LEAST_GAIN = 0.5  # of the members' median; honest leftovers of MNIST had 0.7 to 1.7, most wolves below 0.4
MOST_AWAY = 1.5  # of the mean distance across flocks; honest leftovers of MNIST had 0.8 to 1.03
ALONE = -1


def join_flocks(distance: Square, labels: Labels) -> Labels:
    """The labels after clients in too small pieces joined the flocks they belong to."""
    count = len(labels)
    sizes = np.bincount(labels)
    large = np.flatnonzero(sizes >= least_size(count))
    if len(large) < 2 or len(large) == np.count_nonzero(sizes):
        return labels
    member = labels[:, None] == large
    toward, away = (square @ member / others(member) for square in (excess(distance), distance))
    flock = joined(toward, away, member)
    return in_order(np.where(flock == ALONE, labels, large[flock]))


def joined(toward: np.ndarray, away: np.ndarray, member: np.ndarray) -> Labels:
    """Each client's flock or ALONE, from the mean excess and distance (clients, flocks) to their members."""
    placed = member.any(axis=1)
    nearest = np.where(placed, member.argmax(axis=1), toward.argmin(axis=1))
    own, other = own_and_next(toward, nearest)
    gain = other - own
    near = own_and_next(away, nearest)[0] <= MOST_AWAY * away[placed][~member[placed]].mean()
    joins = near & (gain >= LEAST_GAIN * np.median(gain[placed]))
    return np.where(placed | joins, nearest, ALONE)


def others(member: np.ndarray) -> np.ndarray:
    """How many members (clients, flocks) each flock has other than the client."""
    counts: np.ndarray = np.maximum(member.sum(axis=0) - member, 1)
    return counts


def own_and_next(toward: np.ndarray, flock: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Each client's value for its own flock, and the smallest for another one."""
    rows = np.arange(len(flock))
    rest = toward.copy()
    rest[rows, flock] = np.inf
    return toward[rows, flock], rest.min(axis=1)


def least_size(count: int) -> int:
    """How many clients a flock has at least."""
    return max(2, round(LEAST_SIZE * sqrt(count)))


def excess(distance: Square) -> Square:
    """What is left of distances without each client's own noise, its distance to its nearest neighbour."""
    floor = (distance + np.diag(np.full(len(distance), np.inf))).min(axis=1)
    # a distance holds half the typical floor once for each of its two clients
    left = distance - floor[:, None] - floor[None, :] + np.median(floor)
    np.fill_diagonal(left, 0.0)
    clipped: Square = np.maximum(left, 0.0)
    return clipped
