import numpy as np
import pytest
import scipy.sparse

from flockwise.clustering import agglomerative, leiden, louvain, modularity, native
from flockwise.clustering import neighbours as searched
from flockwise.clustering.crowd import cosine_graph, directions, distance_graph, settle_by_means
from flockwise.clustering.neighbours import ALONE, nearest
from flockwise.clustering.spanning import cosine_tree, distance_tree, sparse_bipartition
from flockwise.clustering.valley import without_shallow_valleys
from flockwise.metrics import adjusted_rand


def clusters(count: int, flocks: int, width: int = 32, within: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, flocks, count)
    rows = np.sqrt(1 - within) * rng.standard_normal((count, width))
    rows += np.sqrt(within) * rng.standard_normal((flocks, width))[truth]
    return rows.astype(np.float32), truth


def test_neighbours_are_mostly_the_true_ones_and_never_oneself() -> None:
    units = directions(clusters(4_000, 8)[0])
    ids, values = nearest(units, 10, probes=6)
    products = units @ units.T
    np.fill_diagonal(products, -np.inf)
    true = np.argsort(-products, axis=1)[:, :10]
    assert np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(ids, true, strict=True)]) > 0.8
    assert (ids != np.arange(4_000)[:, None]).all() and (ids != ALONE).all()
    assert np.allclose(values, np.take_along_axis(products, ids.astype(np.int64), axis=1), atol=1e-5)
    assert (np.diff(values, axis=1) <= 0).all()


def test_neighbours_are_the_same_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    units = directions(clusters(1_500, 5)[0])
    compiled = nearest(units, 6)
    monkeypatch.setattr(searched.native, "keep_nearest", lambda *_: False)
    plain = nearest(units, 6)
    assert np.array_equal(compiled.ids, plain.ids) and np.array_equal(compiled.values, plain.values)


@pytest.mark.parametrize("count", [2, 3, 20, 200])
def test_few_points_have_as_many_neighbours_as_there_are(count: int) -> None:
    ids, _ = nearest(directions(clusters(count, 2)[0]), min(5, count - 1))
    assert all(len(set(row.tolist()) - {ALONE}) == min(5, count - 1) for row in ids)


def test_equal_points_are_not_compared_all_with_all() -> None:
    same = np.ones((20_000, 16), dtype=np.float32) / 4
    ids, _ = nearest(same, 5)  # would take 400 million products
    assert (ids != ALONE).all()


@pytest.mark.parametrize("graph_of", [cosine_graph, distance_graph])
def test_a_sparse_graph_is_symmetric_and_has_the_flocks(graph_of) -> None:  # type: ignore[no-untyped-def]
    rows, truth = clusters(5_000, 10)
    graph = graph_of(directions(rows) if graph_of is cosine_graph else rows)
    assert abs(graph - graph.T).max() == 0 and graph.data.min() > 0 and graph.nnz < 5_000 * 31
    for find in (louvain, leiden):
        assert adjusted_rand(find(graph), truth) > 0.98


def planted(nodes: int, flocks: int, inside: int, across: int) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.sort(rng.integers(0, flocks, nodes))
    starts = np.searchsorted(truth, np.arange(flocks + 1))
    one = np.repeat(np.arange(nodes), inside)
    other = rng.integers(starts[truth[one]], starts[truth[one] + 1])
    far = rng.integers(0, nodes, (2, nodes * across))
    row, column = np.concatenate([one, far[0]]), np.concatenate([other, far[1]])
    kept = row != column
    graph = scipy.sparse.csr_array((np.ones(kept.sum()), (row[kept], column[kept])), shape=(nodes, nodes))
    graph.data[:] = 1.0
    return graph.maximum(graph.T).tocsr(), truth


def test_compiled_communities_are_as_good_as_the_planted_ones() -> None:
    graph, truth = planted(20_000, 40, inside=6, across=2)
    found = leiden(graph, seed=1)
    assert adjusted_rand(found, truth) > 0.99
    assert modularity(graph, found) >= modularity(graph, truth) - 1e-6
    assert np.array_equal(found, leiden(graph, seed=1))


def test_compiled_and_plain_searches_find_the_same_flocks(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, truth = planted(4_000, 10, inside=6, across=1)
    compiled = louvain(graph)
    monkeypatch.setattr(native, "communities", lambda *_: None)
    assert np.array_equal(compiled, louvain(graph)) and adjusted_rand(compiled, truth) == 1.0


def test_who_was_misled_by_neighbours_is_settled_by_the_means() -> None:
    rows, truth = clusters(3_000, 4)
    labels = truth.copy()
    labels[:300] = (labels[:300] + 1) % 4
    assert adjusted_rand(settle_by_means(directions(rows), labels, 4), truth) > 0.99


def test_pieces_of_one_kind_are_joined_and_kinds_are_not() -> None:
    rows, truth = clusters(4_000, 4)
    units = directions(rows)
    pieces = settle_by_means(units, np.random.default_rng(0).integers(0, 3, 4_000) + 3 * truth, 12)
    assert adjusted_rand(without_shallow_valleys(units, pieces), truth) > 0.99
    noise = directions(clusters(4_000, 1)[0])
    cut = settle_by_means(noise, np.random.default_rng(0).integers(0, 6, 4_000), 6)
    assert cut.max() > 0 and without_shallow_valleys(noise, cut).max() == 0


def test_the_spanning_tree_of_neighbours_splits_where_nobody_is_alike() -> None:
    rng = np.random.default_rng(0)
    middles = np.zeros((2, 24), dtype=np.float32)
    middles[0, 0], middles[1, 1] = 1, 1
    truth = rng.integers(0, 2, 3_500)
    rows = middles[truth] + 0.05 * rng.standard_normal((3_500, 24)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels, alpha = sparse_bipartition(rows)
    true = float((rows[truth == 0] @ rows[truth == 1].T).max())
    assert adjusted_rand(labels, truth) == 1.0 and alpha <= true + 1e-6 and alpha > true - 0.2


@pytest.mark.parametrize("by", ["distance", "cosine"])
def test_single_linkage_by_the_tree_of_neighbours_is_that_of_all_distances(by: str) -> None:
    rng = np.random.default_rng(5)
    middles = 4 * rng.standard_normal((6, 12))
    rows = (middles[rng.integers(0, 6, 1_200)] + 0.3 * rng.standard_normal((1_200, 12))).astype(np.float32)
    if by == "cosine":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        away, tree = np.maximum(1 - rows.astype(float) @ rows.T, 0), cosine_tree(rows)
        np.fill_diagonal(away, 0)
    else:
        away, tree = (
            np.sqrt(((rows[:, None].astype(float) - rows[None]) ** 2).sum(axis=2)),
            distance_tree(rows),
        )
    assert len(tree.away) == len(rows) - 1
    lengths = np.sort(tree.away)
    for place in (600, 1_080, 1_190, 1_195):
        height = (lengths[place] + lengths[place + 1]) / 2
        assert np.array_equal(tree.within(height), agglomerative(away, "single", float(height)))
    for flocks in (1, 2, 6, 30, 1_200, 2_000):
        assert np.array_equal(tree.parts(flocks), agglomerative(away, "single", flocks=flocks))


def test_a_tree_spans_parts_that_no_neighbours_join() -> None:
    rng = np.random.default_rng(1)
    rows = np.repeat(np.arange(4.0)[:, None] ** 3 * 100, 50, axis=0) + rng.random((200, 1))
    tree = distance_tree(rows.astype(np.float32))
    assert len(tree.away) == 199
    assert np.array_equal(tree.parts(4), np.repeat(np.arange(4), 50))
