"""The best split in two: clustered federated learning's bipartition (Sattler et al., Algorithm 1).

The split that minimises the largest similarity across it is found exactly by cutting the weakest edge of
the maximum spanning tree. The published code uses complete linkage instead, which misses this optimum.
"""

from typing import Any, Self

import numpy as np

from flockwise.clustering.checks import in_order, square
from flockwise.clustering.contract import Clusterer, clusterer
from flockwise.types import Labels, Square


def bipartition(similarity: Square) -> tuple[Labels, float]:
    """Two flocks with the smallest possible largest cross-similarity, and that similarity (alpha_cross).

    Where several splits are equally good, the largest tightly bound set stands against all the rest (of
    equal sizes: the one most similar inside, then least similar to the rest), whatever the order of the
    clients. A single client cannot be split: its alpha_cross is +infinity, above every threshold.
    """
    matrix = square(similarity, "similarity")
    count = len(matrix)
    if count == 1:
        return np.zeros(1, dtype=np.int64), float("inf")
    child, parent, weight = maximum_spanning_tree(matrix)
    alpha_cross = float(weight.min())
    component = _components(child, parent, weight > alpha_cross)
    side = component == _heaviest(matrix, component)
    return in_order(~side), alpha_cross


@clusterer(
    "The best split in two flocks.",
    takes="similarity",
    paper="Sattler, Mueller and Samek, Clustered federated learning, TNNLS 2020",
    most_flocks=2,
)
class Bipartition(Clusterer):
    """The split whose largest similarity across it (`alpha_cross_`) is smallest; see `bipartition`."""

    alpha_cross_: float

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the split in similarities (clients x clients)."""
        self.labels_, self.alpha_cross_ = bipartition(X)
        return self


def maximum_spanning_tree(similarity: Square) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges (child, parent, weight) in the order in which Prim's algorithm adds them from client 0."""
    count = len(similarity)
    best = similarity[0].astype(np.float64, copy=True)
    origin = np.zeros(count, dtype=np.int64)
    best[0] = -np.inf
    inside = np.zeros(count, dtype=bool)
    inside[0] = True
    child = np.empty(count - 1, dtype=np.int64)
    parent = np.empty(count - 1, dtype=np.int64)
    weight = np.empty(count - 1)
    for step in range(count - 1):
        new = int(best.argmax())
        child[step], parent[step], weight[step] = new, origin[new], best[new]
        inside[new] = True
        closer = (similarity[new] > best) & ~inside
        best[closer] = similarity[new][closer]
        origin[closer] = new
        best[new] = -np.inf
    return child, parent, weight


def _components(child: np.ndarray, parent: np.ndarray, kept: np.ndarray) -> np.ndarray:
    component = np.arange(len(child) + 1)
    for new, old, keep in zip(child.tolist(), parent.tolist(), kept.tolist(), strict=True):
        if keep:  # Prim's order: the parent's component is final before its child arrives
            component[new] = component[old]
    return component


def _heaviest(matrix: Square, component: np.ndarray) -> int:
    names, sizes = np.unique(component, return_counts=True)
    largest = names[sizes == sizes.max()]
    if len(largest) == 1:
        return int(largest[0])
    size, count = int(sizes.max()), len(matrix)
    members = (component == largest[:, None]).astype(np.float64)
    toward = members @ matrix
    inside = (toward * members).sum(axis=1)
    across = (toward.sum(axis=1) - inside) / (size * (count - size))
    # rounded: the order of summation must not decide between equals
    best = np.lexsort((np.round(across, 9), -np.round(inside / size**2, 9)))[0]
    return int(largest[best])
