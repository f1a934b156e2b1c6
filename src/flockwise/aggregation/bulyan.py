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
from flockwise.kernels import native
from flockwise.kernels.checks import as_count, as_updates, need_clients
from flockwise.kernels.columns import NETWORK, each_network_block, each_sorted_block, one_zero
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
    compiled = native.closest_mean(rows, members, count)
    if compiled is not None:
        return one_zero(compiled)
    if len(chosen) <= NETWORK:
        return each_network_block(
            rows, 0, len(chosen), lambda values: _closest_of_rows(values, count), members
        )
    return each_sorted_block(rows, lambda block: closest_mean(block, count), members)


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


def closest_mean(block: Updates, count: int) -> Vector:
    """For each sorted line, the mean of the `count` values closest to its median."""
    width = block.shape[1]
    spare = width - count
    middle = block[:, (width - 1) // 2, None] * np.float32(0.5) + block[:, width // 2, None] * np.float32(0.5)
    # The closest values are neighbours in the sorted line. Value t gives way to value t + count while it is
    # farther from the median; the later the t, the less so, hence these bits say where the stretch starts.
    farther = middle - block[:, :spare] > block[:, count:] - middle
    kept = np.ones(block.shape, dtype=np.bool_)
    kept[:, :spare] &= ~farther
    kept[:, count:] &= farther
    mean = np.einsum("ij,ij->i", block, kept) * np.float32(1.0 / count)
    return np.asarray(mean)


def _closest_of_rows(values: list[Vector], count: int) -> Vector:
    """The same for sorted values that come as rows."""
    width = len(values)
    spare = width - count
    middle = values[(width - 1) // 2] * np.float32(0.5) + values[width // 2] * np.float32(0.5)
    farther = [middle - values[place] > values[place + count] - middle for place in range(spare)]
    total = np.zeros_like(middle)
    zero = np.float32(0)
    for place, value in enumerate(values):
        if place < min(spare, count):
            total += np.where(farther[place], zero, value)
        elif place < spare:
            total += np.where(farther[place - count] ^ farther[place], value, zero)
        elif place < count:
            total += value
        else:
            total += np.where(farther[place - count], value, zero)
    return total * np.float32(1.0 / count)


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
