"""The compiled search beside one that goes node by node: the same labels, whatever the graph."""

import numpy as np
import pytest
import scipy.sparse
from tests.conftest import Cases
from tests.oracles import communities as slow

from flockwise.clustering import native


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
        strength = np.asarray(graph.sum(axis=1), dtype=np.float64)
        found = native.communities(graph, strength, np.arange(nodes), resolution, case, refine)
        if found is None:
            pytest.skip("no compiler")
        rows = zip(graph.indptr[:-1], graph.indptr[1:], strict=True)
        edges = [
            dict(zip(graph.indices[a:b].tolist(), graph.data[a:b].astype(float).tolist(), strict=True))
            for a, b in rows
        ]
        assert found.tolist() == slow.communities(edges, resolution, case, refine, native.CLIMBS), case
