"""Moving single nodes between communities while modularity rises: the inner loop of Louvain and Leiden."""

import numpy as np
import scipy

from flockwise.clustering.graph import Graph

GAIN = 1e-12  # smaller gains, relative to a node's strength, are rounding


def first_sweep(graph: Graph, labels: np.ndarray, resolution: float, order: np.ndarray) -> np.ndarray:
    """Visit every node once in `order` and move it to the community that gains most.

    Labels may be any numbers below the number of nodes; they stay so.
    """
    if scipy.sparse.issparse(graph.weights):
        return _sparse_sweeps(graph, labels, resolution, order)
    labels = labels.copy()
    nodes, strength = graph.nodes, graph.strength
    volume = np.bincount(labels, strength, nodes)
    factor = resolution / graph.total
    for node in order.tolist():
        own, weight = labels[node], strength[node]
        gain = np.bincount(labels, graph.weights[node], nodes)
        volume[own] -= weight
        gain -= (factor * weight) * volume
        target = gain.argmax()
        if gain[target] > gain[own] + GAIN * weight:
            labels[node] = own = target
        volume[own] += weight
    return labels


def settle(graph: Graph, labels: np.ndarray, resolution: float) -> np.ndarray:
    """Move nodes, those that gain most first, until no single move raises modularity.

    A node may also leave for a community of its own.
    """
    if scipy.sparse.issparse(graph.weights):
        return _sparse_sweeps(graph, labels, resolution, np.arange(graph.nodes))
    labels, count = compact(labels)
    nodes, strength = graph.nodes, graph.strength
    rows = np.arange(nodes)
    member = np.zeros((nodes, count + 1))  # the last column is an empty community
    member[rows, labels] = 1.0
    toward = graph.weights @ member
    volume = np.bincount(labels, strength, count + 1)
    factor = resolution / graph.total
    while True:
        gain = toward - np.outer(factor * strength, volume)
        gain[rows, labels] += factor * strength**2  # a node does not repel itself
        rise = gain.max(axis=1) - gain[rows, labels]
        movable = np.flatnonzero(rise > GAIN * strength)
        if len(movable) == 0:
            return compact(labels)[0]
        for node in movable[np.argsort(-rise[movable], kind="stable")].tolist():
            own, weight = labels[node], strength[node]
            volume[own] -= weight
            now = toward[node] - (factor * weight) * volume
            target = now.argmax()
            if now[target] > now[own] + GAIN * weight:
                toward[:, own] -= graph.weights[node]
                toward[:, target] += graph.weights[node]
                labels[node] = own = target
            volume[own] += weight
            if own == count:  # the empty community is taken: open another
                count += 1
                toward = np.column_stack([toward, np.zeros(nodes)])
                volume = np.append(volume, 0.0)


def compact(labels: np.ndarray) -> tuple[np.ndarray, int]:
    """The same labels without unused numbers, and how many there are."""
    names, inverse = np.unique(labels, return_inverse=True)
    return inverse.reshape(-1), len(names)


def _sparse_sweeps(graph: Graph, labels: np.ndarray, resolution: float, order: np.ndarray) -> np.ndarray:
    # lists and dicts: with some dozen neighbours a node they are faster than array calls
    neighbours, weights = graph.weights.indices.tolist(), graph.weights.data.tolist()
    starts, strength = graph.weights.indptr.tolist(), graph.strength.tolist()
    volume = np.bincount(labels, graph.strength, graph.nodes).tolist()
    label, factor = labels.tolist(), resolution / graph.total
    queue, waiting = order.tolist(), [True] * graph.nodes
    for node in queue:  # grows while it is read
        waiting[node] = False
        toward: dict[int, float] = {}
        for edge in range(starts[node], starts[node + 1]):
            other = label[neighbours[edge]]
            toward[other] = toward.get(other, 0.0) + weights[edge]
        own, weight = label[node], strength[node]
        volume[own] -= weight
        best, target = toward.get(own, 0.0) - factor * weight * volume[own] + GAIN * weight, own
        for other, shared in toward.items():
            gain = shared - factor * weight * volume[other]
            if gain > best:
                best, target = gain, other
        volume[target] += weight
        if target != own:
            label[node] = target
            for neighbour in neighbours[starts[node] : starts[node + 1]]:
                if not waiting[neighbour] and label[neighbour] != target:
                    waiting[neighbour] = True
                    queue.append(neighbour)
    return np.asarray(label)
