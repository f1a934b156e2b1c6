"""Flocks among very many clients, whose similarities would not fit in any memory.

The clients are a sparse graph (`clustering/crowd.py`), made from sketches of their updates. What clusters a graph of
similarities is given that graph. Single linkage is given its spanning tree. What needs all distances, or points, is given
nests instead: small communities of the graph, each as one client. Whether flocks are real is tested on some clients of each.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flockwise.clustering import leiden
from flockwise.clustering.checks import in_order
from flockwise.clustering.crowd import (
    NEIGHBOURS,
    cosine_graph,
    directions,
    directions_of,
    distance_graph,
    most_alike,
    settle_by_means,
    sums_by,
)
from flockwise.clustering.spanning import Tree, cosine_tree, distance_tree
from flockwise.clustering.valley import without_shallow_valleys
from flockwise.rng import generator
from flockwise.similarity import Measure, cosine, l2, one_plus_cosine
from flockwise.stages.evidence import Known
from flockwise.types import Clients, Labels, Updates

CROWD = 3000  # clients; with more of them, known by sketches, the graph is sparse
DRAWN = 400  # clients that a test of flocks looks at, the same number of each flock
FINE = 5.0  # resolution of the communities that nests are made of: a few for each flock
NESTS = 500
LEAST = NEIGHBOURS  # members; of fewer, a graph of so many neighbours cannot tell anything


def is_crowd(known: Known) -> bool:
    """Whether these clients are too many to compare all with all."""
    return known.sketched and len(known.clients) > CROWD


@dataclass(frozen=True)
class Crowd:
    """Very many clients, by how alike they are."""

    known: Known
    measure: Measure
    power: float
    seed: int

    @cached_property
    def units(self) -> Updates:
        """The clients' directions from their mean."""
        return directions(self.known.rows)

    @cached_property
    def graph(self) -> Any:
        """Those most alike, by weight, in SciPy's sparse rows."""
        if self.measure.from_cosines is None:
            return distance_graph(self.known.rows, self.power, self.seed)
        return cosine_graph(self.units, self.power, self.seed)

    @property
    def has_tree(self) -> bool:
        """Whether the lengths of a spanning tree are the distances that this measure gives."""
        return self.measure in (cosine, one_plus_cosine, l2)

    @property
    def tree(self) -> Tree:
        """The spanning tree, by the distances that a clusterer would be given."""
        rows = self.known.rows
        if self.measure is l2:
            found = distance_tree(rows, self.seed)
            return found._replace(away=found.away**self.power)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        rows /= np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]
        found = cosine_tree(rows, self.seed)
        return found._replace(away=2.0**self.power - np.clip(2.0 - found.away, 0.0, 2.0) ** self.power)

    def settled(self, labels: Labels) -> Labels:
        """Flocks of communities: clients that neighbours misled find theirs, and pieces of one kind are joined."""
        labels = self._by_means(in_order(labels))
        return self._by_means(without_shallow_valleys(self.units, labels, self.seed))

    def _by_means(self, labels: Labels) -> Labels:
        """Each client where it is most alike to the mean; too few to be a flock are spread over the others."""
        sizes = np.bincount(labels)
        large = np.flatnonzero(sizes >= LEAST)
        if len(large) < 2:
            return labels
        names = np.full(len(sizes), len(large))
        names[large] = np.arange(len(large))
        return in_order(settle_by_means(self.units, names[labels], len(large)))

    def gathered(self, labels: Labels) -> Labels:
        """Flocks as they are, but for those that are too few to be one: each of their clients joins another."""
        large = np.flatnonzero(np.bincount(labels) >= LEAST)
        lost = ~np.isin(labels, large)
        if not len(large) or not lost.any():
            return np.zeros_like(labels) if not len(large) else labels
        means = directions_of(self.units, np.where(lost, labels.max() + 1, labels))[large]
        labels = labels.copy()
        labels[lost] = large[most_alike(self.units[lost], means)]
        return in_order(labels)

    def nests(self) -> tuple[Labels, Updates]:
        """Small parts of communities, in which clients can be taken for one, and the mean of each part's rows.

        Communities are cut at random into parts of about the same size: a large one counts for more.
        """
        found = self.settled(leiden(self.graph, FINE, self.seed))
        order = generator(self.seed, "nests").permutation(len(found))
        order = order[np.argsort(found[order], kind="stable")]
        sizes = np.bincount(found)
        parts = np.maximum(np.rint(sizes * (NESTS / len(found))), 1).astype(np.int64)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        inside = rank * np.repeat(parts, sizes) // np.repeat(sizes, sizes)
        nests = np.empty(len(found), dtype=np.int64)
        nests[order] = np.repeat(np.cumsum(parts) - parts, sizes) + inside
        sums = sums_by(self.known.rows, nests)
        return nests, (sums / np.bincount(nests)[:, None]).astype(np.float32)

    def drawn(self, labels: Labels) -> Clients:
        """Some clients of each flock, as places among those known."""
        order = generator(self.seed, "drawn of flocks").permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        sizes = np.bincount(labels)
        rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.sort(order[rank < max(DRAWN // len(sizes), 4)])
