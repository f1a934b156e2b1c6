"""Louvain and Leiden community detection without a compiler, in NumPy.

Louvain: Blondel et al. 2008. Leiden: Traag, Waltman and van Eck 2019, here with the greedy choice of the
refinement (its randomness parameter at 0). Both differ from the papers in that the search is repeated from
several seeded starts, ends with moves of single clients, and works in an order that depends on the weights
and not on how the clients are numbered, so that the numbering does not change the flocks.

Resolution multiplies the null term as in networkx: a higher one gives more and smaller flocks. The
communities paper and python-louvain up to 0.15 use the inverse ("time") convention, where low values give
many small flocks: their resolution r is our 1 / r; at 1.0 both agree. python-louvain 0.16 mixes the two
conventions, so published values other than 1.0 made with it cannot be converted.
"""

from typing import Any

import numpy as np

from flockwise.clustering.checks import in_order
from flockwise.clustering.graph import DENSE_LIMIT, Graph, aggregate, content_order, read_graph, reorder
from flockwise.clustering.local_moves import compact, first_sweep, settle
from flockwise.clustering.modularity import check_resolution, partition_modularity
from flockwise.clustering.refinement import refine
from flockwise.errors import InputError
from flockwise.rng import generator
from flockwise.types import Labels

SMALL = 500  # clients; up to here a search takes milliseconds and more of them run
LEAST_GAIN = 0.01  # of the modularity: a search that gains less was in vain
MOST_IN_VAIN = 2  # searches in a row, among many clients


def louvain(
    similarity: Any,
    resolution: float = 1.0,
    seed: int = 0,
    *,
    self_loops: bool = False,
    starts: int | None = None,
) -> Labels:
    """Flocks of high modularity in a graph whose edges are the similarities (dense or SciPy sparse).

    NaN means never compared and gives no edge. The diagonal is ignored unless `self_loops`. At most
    `starts` searches run (default 8, and 1 above 3000 clients); they end early when the best partition
    is found again (three times up to 500 clients). Clients without any edge stay alone.
    """
    return _search(similarity, resolution, seed, self_loops, starts, leiden=False)


def leiden(
    similarity: Any,
    resolution: float = 1.0,
    seed: int = 0,
    *,
    self_loops: bool = False,
    starts: int | None = None,
) -> Labels:
    """As `louvain`, with flocks that are also connected inside; better on large sparse graphs."""
    return _search(similarity, resolution, seed, self_loops, starts, leiden=True)


def _search(
    similarity: Any, resolution: float, seed: int, self_loops: bool, starts: int | None, leiden: bool
) -> Labels:
    check_resolution(resolution)
    graph = read_graph(similarity, self_loops)
    if starts is None:
        starts = 8 if graph.nodes <= DENSE_LIMIT else 1
    if starts < 1:
        raise InputError(f"starts = {starts}: must be at least 1")
    found = np.arange(graph.nodes)
    order = content_order(graph)
    order = order[graph.strength[order] > 0]
    if len(order) == 0:
        return found
    found += len(order)  # whoever has no edge stays alone
    graph = reorder(graph, order)
    best, best_quality = np.arange(graph.nodes), -np.inf
    small = graph.nodes <= SMALL
    repeats = 3 if small else 1
    in_vain = 0
    for start in range(starts):
        rng = generator(seed, "leiden" if leiden else "louvain", start)
        # after a search from single clients one from random flocks: they end in different optima
        first = (
            rng.integers(0, best.max() + 3, graph.nodes) if small and start % 2 else np.arange(graph.nodes)
        )
        labels, quality = _one_start(graph, first, resolution, rng, leiden)
        if start and np.array_equal(labels, best):
            repeats -= 1
            if repeats == 0:
                break
            continue
        gained = start == 0 or quality - best_quality > LEAST_GAIN * abs(best_quality)
        if quality > best_quality:
            best, best_quality = labels, quality
        in_vain = 0 if gained else in_vain + 1
        if not small and in_vain == MOST_IN_VAIN:  # no structure that another search would find
            break
    found[order] = best
    return in_order(found)


def _one_start(
    graph: Graph, labels: np.ndarray, resolution: float, rng: np.random.Generator, leiden: bool
) -> tuple[Labels, float]:
    while True:
        labels = in_order(_climb(graph, labels, resolution, rng, leiden))
        settled = in_order(settle(graph, labels, resolution))
        if np.array_equal(settled, labels):
            return labels, partition_modularity(graph, labels, resolution)
        labels = settled


def _climb(
    graph: Graph, labels: np.ndarray, resolution: float, rng: np.random.Generator, leiden: bool
) -> np.ndarray:
    """Local moves, then the same on the graph of communities, until nothing merges any more."""
    labels, count = compact(labels)
    if count == graph.nodes:
        labels = first_sweep(graph, labels, resolution, rng.permutation(graph.nodes))
    labels, count = compact(settle(graph, labels, resolution))
    if count == graph.nodes:
        return labels
    parts = refine(graph, labels, resolution, rng) if leiden else labels
    parts, parts_count = compact(parts)
    if parts_count == graph.nodes:
        parts, parts_count = labels, count
    inside = np.empty(parts_count, dtype=np.int64)
    inside[parts] = labels  # each part starts in the community it came from
    merged = _climb(aggregate(graph, parts, parts_count), inside, resolution, rng, leiden)
    joined: np.ndarray = merged[parts]
    return joined
