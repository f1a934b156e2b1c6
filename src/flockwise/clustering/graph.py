"""A weighted graph of clients as the community searches need it, dense or sparse."""

from typing import Any, NamedTuple

import numpy as np
import scipy  # its parts are loaded when first used, which most runs never do

from flockwise.clustering.checks import check_square
from flockwise.errors import InputError

DENSE_LIMIT = 3000  # up to here a dense matrix (72 MB) is faster than sparse rows


class Graph(NamedTuple):
    """Symmetric weights without the diagonal; strengths include twice the self-loops."""

    weights: Any  # (nodes, nodes) float64, C-contiguous ndarray or CSR
    strength: np.ndarray  # (nodes,)
    loops: float  # the part of all strengths that comes from self-loops

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.strength)

    @property
    def total(self) -> float:
        """The sum of all strengths: twice the weight of all edges."""
        return float(self.strength.sum())


def read_graph(similarity: Any, self_loops: bool) -> Graph:
    """Check a similarity matrix and make a graph of it; NaN means never compared, so no edge."""
    if scipy.sparse.issparse(similarity):
        weights, loops = _read_sparse(similarity)
    else:
        weights, loops = _read_dense(similarity)
    if not self_loops:
        loops = np.zeros_like(loops)
    # as in networkx a self-loop of weight w adds 2w to its node's strength
    return Graph(weights, np.asarray(weights.sum(axis=1)).reshape(-1) + 2 * loops, 2 * float(loops.sum()))


def aggregate(graph: Graph, labels: np.ndarray, count: int) -> Graph:
    """One node for each community; the weight inside it is kept in its strength alone."""
    nodes = np.arange(graph.nodes)
    member = scipy.sparse.csr_array((np.ones(graph.nodes), (nodes, labels)), shape=(graph.nodes, count))
    if scipy.sparse.issparse(graph.weights):
        weights = (member.T @ graph.weights @ member).tocsr()
        weights = weights.toarray() if count <= DENSE_LIMIT else weights
    else:
        weights = np.ascontiguousarray((member.T @ (member.T @ graph.weights).T).T)
    weights = _without_diagonal(weights)
    return Graph(weights, np.bincount(labels, graph.strength, count), graph.total - float(weights.sum()))


def reorder(graph: Graph, order: np.ndarray) -> Graph:
    """The same graph with its nodes in another order; strengths are added up anew, since sums depend on the order."""
    weights = graph.weights[order][:, order]
    own = (
        graph.strength - np.asarray(graph.weights.sum(axis=1)).reshape(-1)
        if graph.loops
        else np.zeros(graph.nodes)
    )
    return Graph(weights, np.asarray(weights.sum(axis=1)).reshape(-1) + own[order], graph.loops)


def content_order(graph: Graph) -> np.ndarray:
    """An order of the nodes that depends on their strengths and not on the order they came in.

    Strengths are added up as integers, because sums of floats depend on the order of their terms.
    """
    values = graph.weights.data if scipy.sparse.issparse(graph.weights) else graph.weights
    largest = float(values.max()) if values.size else 0.0
    if largest == 0:
        return np.arange(graph.nodes)
    exact = (values * (2**40 / largest)).astype(np.int64)
    if scipy.sparse.issparse(graph.weights):
        exact = scipy.sparse.csr_array(
            (exact, graph.weights.indices, graph.weights.indptr), graph.weights.shape
        )
    return np.argsort(np.asarray(exact.sum(axis=1)).reshape(-1), kind="stable")


def _read_dense(similarity: Any) -> tuple[np.ndarray, np.ndarray]:
    weights = np.array(similarity, dtype=np.float64, order="C")
    check_square(weights.shape, "similarity")
    unknown = np.isnan(weights)
    if unknown.any():
        weights[unknown] = 0.0
    lowest, highest = float(weights.min()), float(weights.max())
    _check_range(lowest, highest)
    if float(np.abs(weights - weights.T).max()) > 1e-6 * highest:
        raise InputError("similarity is not symmetric: use (similarity + similarity.T) / 2")
    loops = np.diagonal(weights).copy()
    return _without_diagonal(weights), loops


def _read_sparse(similarity: Any) -> tuple[Any, np.ndarray]:
    check_square(similarity.shape, "similarity")
    weights = scipy.sparse.csr_array(similarity, dtype=np.float64, copy=True)
    weights.sum_duplicates()
    weights.data[np.isnan(weights.data)] = 0.0
    weights.eliminate_zeros()
    if weights.nnz:
        _check_range(float(weights.data.min()), float(weights.data.max()))
        if abs(weights - weights.T).max() > 1e-6 * weights.data.max():
            raise InputError("similarity is not symmetric: use (similarity + similarity.T) / 2")
    loops = weights.diagonal()
    if weights.shape[0] <= DENSE_LIMIT:
        return _without_diagonal(weights.toarray()), loops
    return _without_diagonal(weights), loops


def _without_diagonal(weights: Any) -> Any:
    if scipy.sparse.issparse(weights):
        weights = (weights - scipy.sparse.diags_array(weights.diagonal())).tocsr()
        weights.eliminate_zeros()
        weights.sort_indices()
        return weights
    np.fill_diagonal(weights, 0.0)
    return weights


def _check_range(lowest: float, highest: float) -> None:
    if lowest < 0:
        raise InputError(
            f"similarity has the entry {lowest:.3g}: weights must not be negative; for cosines use 1 + cosine"
        )
    if not np.isfinite(highest):
        raise InputError("similarity holds infinity: weights must be finite; NaN marks a missing comparison")
