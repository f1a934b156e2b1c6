"""Leiden's refinement: split each community into well connected parts before it is aggregated."""

import numpy as np
import scipy

from flockwise.clustering.graph import Graph


def refine(graph: Graph, labels: np.ndarray, resolution: float, rng: np.random.Generator) -> np.ndarray:
    """Parts of the communities `labels`, grown from single nodes by merges that raise modularity.

    A node joins a part only while it is still alone and if node and part are well connected to the rest of
    their community (Traag et al. 2019, Algorithm A.2, lines 33 to 44).
    """
    parts = np.arange(graph.nodes)
    order = rng.permutation(graph.nodes)
    for members in np.split(order[np.argsort(labels[order], kind="stable")], _borders(labels)):
        if len(members) > 1:
            parts[members] = members[_grow(graph, members, resolution)]
    return parts


def _borders(labels: np.ndarray) -> np.ndarray:
    return np.cumsum(np.bincount(labels))[:-1]


def _grow(graph: Graph, members: np.ndarray, resolution: float) -> np.ndarray:
    weights = graph.weights[members][:, members]
    if scipy.sparse.issparse(weights):
        weights = weights.toarray()
    strength = graph.strength[members]
    factor, whole, count = resolution / graph.total, float(strength.sum()), len(members)
    part, alone = list(range(count)), [True] * count
    attraction = weights.sum(axis=1)
    repulsion = factor * strength  # of each part, per unit of a node's strength; infinite: may not grow
    repulsion[attraction < repulsion * (whole - strength)] = np.inf
    may_move = np.isfinite(repulsion).tolist()
    toward = weights.copy()  # row: node, column: part
    outward, volume = attraction.tolist(), strength.tolist()  # lists: single numbers are read faster
    for node, weight in enumerate(strength.tolist()):
        if not (alone[node] and may_move[node]):
            continue
        own, repulsion[node] = repulsion[node], np.inf
        gain = toward[node] - weight * repulsion
        target = int(gain.argmax())
        if gain[target] <= 0:
            repulsion[node] = own
            continue
        outward[target] += outward[node] - 2 * float(toward[node, target])
        volume[target] += weight
        connected = outward[target] >= factor * volume[target] * (whole - volume[target])
        repulsion[target] = factor * volume[target] if connected else np.inf
        toward[:, target] += weights[node]
        alone[target] = False
        part[node] = target
    return np.asarray(part)
