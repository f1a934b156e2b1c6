"""The compiled search beside one that goes node by node: the same labels, whatever the graph."""

import numpy as np
import pytest
import scipy.sparse
from tests.conftest import Cases
from tests.oracles import communities as slow

from flockwise.clustering import native


def twins(
    graph: scipy.sparse.csr_array, resolution: float, case: int, refine: bool
) -> tuple[list[int], list[int]]:
    """The communities of both searches."""
    strength = np.asarray(graph.sum(axis=1), dtype=np.float64)
    found = native.communities(graph, strength, np.arange(graph.shape[0]), resolution, case, refine)
    if found is None:
        pytest.skip("no compiler")
    rows = zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
    edges = [
        dict(zip(graph.indices[a:b].tolist(), graph.data[a:b].astype(float).tolist(), strict=True))
        for a, b in rows
    ]
    return found.tolist(), slow.communities(edges, resolution, case, refine, native.CLIMBS)


TELLING = (517, 3220, 3809)  # of the first 4,000, those in which it makes a difference


def test_nodes_that_are_just_connected_enough_belong_together(cases: Cases) -> None:
    """So many edges that shares of all are exact: what a node has inside equals what it must have, now and then."""
    for case in (*TELLING, *range(cases.many(100))):
        rng = np.random.default_rng([5, case])
        nodes, edges = int(rng.integers(6, 16)), int(rng.choice([8, 16, 32]))
        resolution = float(rng.choice([0.5, 1.0, 2.0]))
        pairs = np.argwhere(np.triu(np.ones((nodes, nodes)), 1))
        if len(pairs) < edges:
            continue
        chosen = pairs[rng.permutation(len(pairs))[:edges]]
        half = np.zeros((nodes, nodes))
        half[chosen[:, 0], chosen[:, 1]] = 1
        graph = scipy.sparse.csr_array((half + half.T).astype(np.float32))
        found, expected = twins(graph, resolution, case, True)
        assert found == expected, case


@pytest.mark.parametrize("refine", [True, False])
def test_compiled_communities_are_those_found_node_by_node(refine: bool, cases: Cases) -> None:
    for case in range(cases.many(40)):
        rng = np.random.default_rng([4, case])
        nodes, resolution = int(rng.integers(3, 40)), float(rng.choice([0.5, 1.0, 1.7]))
        half = np.triu(rng.random((nodes, nodes)) < rng.choice([0.1, 0.2, 0.4]), 1)
        half = half * rng.integers(1, 4, (nodes, nodes))  # whole numbers: ties, and sums without rounding
        graph = scipy.sparse.csr_array((half + half.T).astype(np.float32))
        if not graph.nnz:
            continue
        found, expected = twins(graph, resolution, case, refine)
        assert found == expected, case
