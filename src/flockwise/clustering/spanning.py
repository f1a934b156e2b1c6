"""The spanning tree of very many clients, made of their nearest neighbours: what single linkage and CFL's split need.

Up to 10,000 clients all are looked at; of more, some buckets of neighbours. Parts that no neighbours join are joined by the
nearest of some of their members. So a tree is right up to what was not looked at: its edges can only be too long.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from flockwise.clustering.checks import in_order
from flockwise.clustering.neighbours import ALONE, nearest
from flockwise.kernels.parallel import blocks, one_blas_thread
from flockwise.types import Labels, Updates

NEIGHBOURS = 15
LOOKED_INTO = (
    8  # buckets of neighbours, for an edge that is missing lengthens the tree; of fewer clients all of them
)
FEW = BRIDGING = 10_000  # clients; so many stand for parts that no neighbours join
AT_ONCE = 1024  # of them
SOME = 1.0  # SciPy takes 0 for no edge, so this is added to every length
Away = Callable[
    [NDArray[np.float64], NDArray[np.intp]], NDArray[np.float64]
]  # of products, and whose they are


class Tree(NamedTuple):
    """The edges of a spanning tree, each with its length."""

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    away: NDArray[np.float64]

    def within(self, most: float) -> Labels:
        """Who is joined by edges that are no longer than this: single linkage at a threshold."""
        kept, count = self.away <= most, len(self.away) + 1
        graph = _sparse(kept[kept], self.one[kept], self.other[kept], count)
        return in_order(scipy.sparse.csgraph.connected_components(graph, directed=False)[1])

    def parts(self, most: int) -> Labels:
        """The same with at most so many flocks; edges of one length stay or go together."""
        longest = np.sort(self.away)[::-1]
        return self.within(longest[most - 1] if most <= len(longest) else -np.inf)


def cosine_tree(units: Updates, seed: int = 0) -> Tree:
    """Of rows of length 1, by 1 - cosine."""
    return _tree(units, units, lambda products, rows: 1.0 - products, seed)


def distance_tree(rows: Updates, seed: int = 0) -> Tree:
    """By Euclidean distance."""
    rows = rows - rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    # Whoever is nearest has the largest x y - y y / 2: one more column makes it a product.
    asked = np.concatenate([rows, np.ones((len(rows), 1), np.float32)], axis=1)
    answers = np.concatenate([rows, -squares[:, None].astype(np.float32) / 2], axis=1)
    return _tree(
        asked, answers, lambda products, who: np.sqrt(np.maximum(squares[who] - 2 * products, 0.0)), seed
    )


def sparse_bipartition(units: Updates, seed: int = 0) -> tuple[Labels, float]:
    """As `bipartition`: two flocks with a small largest cosine across, and that cosine; rows have length 1."""
    tree = cosine_tree(units, seed)
    longest = float(tree.away.max())
    side = tree.within(np.nextafter(longest, -np.inf))
    return in_order(side != np.bincount(side).argmax()), 1.0 - longest


def _tree(asked: Updates, answers: Updates, away: Away, seed: int) -> Tree:
    probes = len(asked) if len(asked) <= FEW else LOOKED_INTO
    found = nearest(asked, min(NEIGHBOURS, len(asked) - 1), seed, probes, answers)
    there = found.ids != ALONE
    row = np.repeat(np.arange(len(asked)), there.sum(axis=1))
    graph = _edges(row, found.ids[there], away(found.values[there].astype(np.float64), row), len(asked))
    count, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    while count > 1:  # at least every second part is gone each time
        graph = graph.maximum(_bridges(asked, answers, away, part))
        count, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph).tocoo()
    return Tree(tree.row, tree.col, tree.data - SOME)


def _edges(
    row: NDArray[np.intp], column: np.ndarray, away: NDArray[np.float64], count: int
) -> scipy.sparse.csr_array:
    return _sparse(SOME + away, row, column, count)


def _sparse(
    values: np.ndarray, row: NDArray[np.intp], column: NDArray[np.intp], count: int
) -> scipy.sparse.csr_array:
    # SciPy's graphs had no other places than these before 1.16.
    places = row.astype(np.int32), column.astype(np.int32)
    return scipy.sparse.csr_array((values, places), shape=(count, count))


def _bridges(asked: Updates, answers: Updates, away: Away, part: Labels) -> scipy.sparse.csr_array:
    """For every part the shortest way out of it, from and to some members."""
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    some = order[rank < max(BRIDGING // len(sizes), 1)]
    best, products = np.empty(len(some), dtype=np.intp), np.empty(len(some))
    for piece in blocks(len(some), AT_ONCE):
        with one_blas_thread():
            toward = asked[some[piece]] @ answers[some].T
        toward[part[some[piece]][:, None] == part[some][None, :]] = -np.inf
        best[piece] = toward.argmax(axis=1)
        products[piece] = toward.max(axis=1)
    lengths = away(products, some)
    order = np.lexsort((lengths, part[some]))
    first = order[np.unique(part[some][order], return_index=True)[1]]
    return _edges(some[first], some[best[first]], lengths[first], len(asked))
