"""Minimum-diameter averaging: the mean of the K - f updates that lie closest together.

El Mhamdi, Guerraoui, Guirguis, Hoang, Rouault: Genuinely Distributed Byzantine Machine Learning, PODC 2020; the idea is
Rousseeuw's (1985). Others try all subsets. A set of small diameter leaves out one end of every pair that is farther apart,
which is a small vertex cover: found by halving over the distances and branching on the client in most such pairs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_updates, need_clients
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import content_order, rounded
from flockwise.types import Square, Updates, Vector

STEPS = 20_000  # of the search; hundreds are the rule, but attackers may arrange for more


@rule(
    "mean of the K - f updates with the smallest diameter",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="all pairwise distances, K^2 d, and a search that can grow with 1.5^f",
    paper="El Mhamdi et al., Genuinely distributed Byzantine machine learning, PODC 2020",
    minimum=majority,
    example={"f": 2},
    bounded=True,
    mean_with={"f": 0},
)
def mda(updates: Any, f: int) -> Vector:
    """The mean of the K - f updates whose two farthest are nearest.

    Of several such sets, the one that keeps the clients most central among all. A search that is not done after STEPS
    steps settles for the best client with its nearest: at most twice the smallest diameter.
    """
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "MDA")
    chosen = smallest_diameter(rows, squared_distances(rows), len(rows) - f)
    coefficients = np.zeros(len(rows))
    coefficients[chosen] = 1.0 / len(chosen)
    return weighted_sum(rows, coefficients)


def smallest_diameter(rows: Updates, distances: Square, keep: int) -> NDArray[np.intp]:
    """Indices of `keep` clients whose largest distance is smallest."""
    away = rounded(distances)
    order = np.lexsort((np.argsort(content_order(rows)), rounded(away.sum(axis=1))))  # the most central first
    away = away[np.ix_(order, order)]
    search = _Search()
    lengths = np.unique(away)
    try:
        low, high = 0, len(lengths) - 1
        while low < high:
            middle = (low + high) // 2
            enough = search.possible(away > lengths[middle], len(away) - keep)
            low, high = (low, middle) if enough else (middle + 1, high)
        chosen = _first_fitting(away > lengths[low], keep, search)
    except _TooLongError:
        nearest = np.sort(away, axis=1)[:, keep - 1]
        chosen = np.argsort(away[int(nearest.argmin())], kind="stable")[:keep]
    return order[chosen]


def _first_fitting(apart: NDArray[np.bool_], keep: int, search: "_Search") -> NDArray[np.intp]:
    """The first clients in order that can be kept together with enough others, no two of them apart."""
    left = np.ones(len(apart), dtype=np.bool_)
    kept: list[int] = []
    for client in range(len(apart)):
        rest = left & ~apart[client]
        if left[client] and len(kept) < keep:
            if search.possible(apart[np.ix_(rest, rest)], int(rest.sum()) - keep):
                left = rest
                kept.append(client)
            else:
                left[client] = False
    return np.array(kept, dtype=np.intp)


class _TooLongError(Exception):
    """The search has used up its steps."""


class _Search:
    """Can these few clients be left out so that no two of the others are apart?"""

    def __init__(self) -> None:
        self.steps = 0

    def possible(self, apart: NDArray[np.bool_], spare: int) -> bool:
        """Whether leaving out `spare` clients is enough."""
        self.steps += 1
        if self.steps > STEPS:
            raise _TooLongError
        degrees = apart.sum(axis=1)
        if spare < 0 or degrees.sum() > 2 * spare * degrees.max(initial=0):
            return False
        if not degrees.any():
            return True
        if degrees.max() == 1:
            return bool(degrees.sum() <= 2 * spare)
        busiest = int(degrees.argmax())
        without = np.arange(len(apart)) != busiest
        if self.possible(apart[np.ix_(without, without)], spare - 1):
            return True
        friends = ~apart[busiest] & without  # the busiest stays, so everyone it is apart from goes
        return degrees[busiest] <= spare and self.possible(
            apart[np.ix_(friends, friends)], spare - int(degrees[busiest])
        )
