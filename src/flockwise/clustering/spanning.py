"""The split in two of very many clients: the weakest edge of the spanning tree of their nearest neighbours.

As `bipartition`, which needs all similarities. Parts that no neighbours join are joined by the most similar of some of
their members, so the similarity across is right up to what was not looked at: it can only be too low.
"""

import numpy as np
import scipy

from flockwise.clustering.checks import in_order
from flockwise.clustering.neighbours import ALONE, nearest
from flockwise.kernels.parallel import one_blas_thread
from flockwise.types import Labels, Updates

NEIGHBOURS = 15
BRIDGING = 4096  # clients that stand for the parts
FARTHEST = 2.0  # 1 - cosine, at most; SciPy takes 0 for no edge, so it is added to the other end


def sparse_bipartition(units: Updates, seed: int = 0) -> tuple[Labels, float]:
    """Two flocks with a small largest cosine across, and that cosine; rows have length 1."""
    found = nearest(units, min(NEIGHBOURS, len(units) - 1), seed)
    there = found.ids != ALONE
    row = np.repeat(np.arange(len(units)), there.sum(axis=1))
    graph = _away(row, found.ids[there], found.values[there], len(units))
    count, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    if count > 1:
        graph = graph.maximum(_bridges(units, part))
    tree = scipy.sparse.csgraph.minimum_spanning_tree(graph).tocoo()
    kept = tree.data < tree.data.max()
    cut = scipy.sparse.coo_array((tree.data[kept], (tree.row[kept], tree.col[kept])), tree.shape)
    _, side = scipy.sparse.csgraph.connected_components(cut, directed=False)
    return in_order(side != np.bincount(side).argmax()), 1.0 + FARTHEST - float(tree.data.max())


def _away(row: np.ndarray, column: np.ndarray, cosine: np.ndarray, count: int) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((1.0 + FARTHEST - cosine, (row, column)), shape=(count, count))


def _bridges(units: Updates, part: Labels) -> scipy.sparse.csr_array:
    """The most similar pair of some members of every two parts."""
    order = np.argsort(part, kind="stable")
    sizes = np.bincount(part)
    rank = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    some = order[rank < max(BRIDGING // len(sizes), 1)]
    with one_blas_thread():
        cosines = units[some] @ units[some].T
    cosines[part[some][:, None] == part[some][None, :]] = -np.inf
    best = cosines.argmax(axis=1)  # each one's most similar in another part
    return _away(some, some[best], np.clip(cosines[np.arange(len(some)), best], -1.0, 1.0), len(units))
