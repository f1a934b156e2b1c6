"""The search for the partition of highest modularity that Louvain and Leiden share."""

from typing import Any

import numpy as np
import scipy  # its parts are loaded when first used

from flockwise.clustering import native
from flockwise.clustering.checks import in_order
from flockwise.clustering.graph import DENSE_LIMIT, Graph, aggregate, content_order, read_graph, reorder
from flockwise.clustering.local_moves import compact, first_sweep, settle
from flockwise.clustering.modularity import check_resolution, partition_modularity
from flockwise.clustering.refinement import refine
from flockwise.errors import InputError
from flockwise.rng import derived_seed, generator
from flockwise.types import Labels

SMALL = 500  # clients; up to here a search takes milliseconds and more of them run
LEAST_GAIN = 0.01  # of the modularity: a search that gains less was in vain
MOST_IN_VAIN = 2  # searches in a row, among many clients


def search(
    similarity: Any, resolution: float, seed: int, self_loops: bool, starts: int | None, leiden: bool
) -> Labels:
    """The best partition of several searches; see `louvain` for what the arguments mean."""
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
    if scipy.sparse.issparse(graph.weights):
        best = _compiled(graph, resolution, seed, starts, leiden)
        if best is not None:
            found[order] = best
            return in_order(found)
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


def _compiled(graph: Graph, resolution: float, seed: int, starts: int, leiden: bool) -> Labels | None:
    """The best of several searches in a sparse graph, in C++ where there is a compiler."""
    best, best_quality = None, -np.inf
    for start in range(starts):
        drawn = derived_seed(seed, "leiden" if leiden else "louvain", start)
        labels = native.communities(
            graph.weights, graph.strength, np.arange(graph.nodes), resolution, drawn, leiden
        )
        if labels is None:
            return None
        quality = partition_modularity(graph, labels, resolution) if starts > 1 else 0.0
        if quality > best_quality:
            best, best_quality = labels, quality
    return best


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
