"""How good a partition of a weighted graph is: Newman's modularity with a resolution."""

from typing import Any

import numpy as np
import scipy

from flockwise.clustering.graph import Graph, read_graph
from flockwise.errors import InputError
from flockwise.types import Labels


def modularity(
    similarity: Any, labels: Labels, resolution: float = 1.0, *, self_loops: bool = False
) -> float:
    """Weight inside the flocks minus `resolution` times what chance would put there, over all weight.

    The same as networkx. A graph without any weight has modularity 0.
    """
    graph = read_graph(similarity, self_loops)
    check_resolution(resolution)
    names = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if len(names) != graph.nodes:
        raise InputError(f"labels has {len(names)} entries: must be {graph.nodes}, one for each client")
    return partition_modularity(graph, names, resolution)


def partition_modularity(graph: Graph, labels: np.ndarray, resolution: float) -> float:
    """Modularity of labels 0..C-1."""
    total = graph.total
    if total == 0:
        return 0.0
    count = int(labels.max()) + 1
    if scipy.sparse.issparse(graph.weights):
        edges = graph.weights.tocoo()
        inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    else:
        member = np.zeros((graph.nodes, count))
        member[np.arange(graph.nodes), labels] = 1.0
        inside = float(np.einsum("ij,ij->", graph.weights @ member, member))
    shares = np.bincount(labels, graph.strength, count) / total
    return (inside + graph.loops) / total - resolution * float(shares @ shares)


def check_resolution(resolution: float) -> None:
    """Refuse a resolution that is not a positive finite number."""
    if not 0 < resolution < float("inf"):
        raise InputError(f"resolution = {resolution}: must be a positive number; 1 is the usual modularity")
