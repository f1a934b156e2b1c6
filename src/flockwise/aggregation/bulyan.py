"""Bulyan: repeated Krum, then for every coordinate the values closest to the median.

El Mhamdi, Guerraoui, Rouault: The Hidden Vulnerability of Distributed Learning in Byzantium, ICML 2018.
Narrows what an attacker can do in a single coordinate at the price of needing K >= 4f + 3.
Selection is iterative as published; Flower's newer code and others select once.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.krum import krum_scores
from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_count, as_updates, need_clients
from flockwise.kernels.closest import closest_to_median
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import lowest
from flockwise.types import Square, Updates, Vector


def _fewest(f: int = 0, **options: Any) -> int:
    return 4 * f + 3


@rule(
    "repeated Krum, then the values closest to the median of every coordinate",
    needs="K >= 4f + 3",
    tolerates="f <= (K - 3) / 4",
    cost="pairwise distances and a sort, K^2 d",
    minimum=_fewest,
    example={"f": 1},
    bounded=True,
    mean_with={"f": 0},
)
def bulyan(updates: Any, f: int) -> Vector:
    """Select K - 2f updates by repeated Krum, then average the K - 4f values closest to their median.

    Of two values equally far from the median the lower one is taken.
    """
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 4 * f + 3, f, "Bulyan")
    chosen = bulyan_selection(rows, squared_distances(rows), f)
    members = np.sort(chosen)
    count = len(chosen) - 2 * f
    return closest_to_median(rows, members, count)


def bulyan_selection(rows: Updates, distances: Square, f: int) -> NDArray[np.intp]:
    """Indices of the K - 2f clients that repeated Krum takes one after another."""
    neighbours = _Neighbours(distances, len(rows) - f - 2)
    remaining = np.arange(len(rows))
    chosen: list[int] = []
    while len(chosen) < len(rows) - 2 * f:
        if len(remaining) - f - 2 >= 1:
            scores = neighbours.counted[remaining].sum(axis=1)
        else:
            scores = krum_scores(distances[np.ix_(remaining, remaining)], 1)
        best = int(lowest(scores, 1, rows, remaining)[0])
        chosen.append(best)
        remaining = remaining[remaining != best]
        neighbours.remove(best, remaining)
    return np.array(chosen, dtype=np.intp)


class _Neighbours:
    """Which distances count for each client's Krum score while clients are taken away one by one."""

    def __init__(self, distances: Square, nearest: int) -> None:
        others = distances.copy()
        np.fill_diagonal(others, np.inf)
        self.order = np.argsort(others, axis=1, kind="stable")
        self.member = np.zeros(distances.shape, dtype=np.bool_)
        np.put_along_axis(self.member, self.order[:, :nearest], True, axis=1)
        self.counted = np.where(self.member, others, 0.0)
        self.farthest = np.full(len(distances), nearest - 1)  # position in the order

    def remove(self, client: int, remaining: NDArray[np.intp]) -> None:
        """Those who counted the client lose it, the others lose their farthest neighbour.

        The number of neighbours falls by one with each client taken, so either way the nearest stay.
        """
        spared = remaining[~self.member[remaining, client] & (self.farthest[remaining] >= 0)]
        dropped = self.order[spared, self.farthest[spared]]
        for lines, column in ((remaining, client), (spared, dropped)):
            self.member[lines, column] = False
            self.counted[lines, column] = 0.0
        behind = remaining
        while len(behind):
            behind = behind[self.farthest[behind] >= 0]
            behind = behind[~self.member[behind, self.order[behind, self.farthest[behind]]]]
            self.farthest[behind] -= 1
