"""Whole numbers of samples per client and label, as near as possible to the mixes that are wanted."""

import numpy as np
import scipy  # its parts are loaded when first used, which most runs never do
from numpy.typing import NDArray

ROUNDS = 300  # of proportional fitting; MNIST's splits settle within 50


def apportion(
    mixes: NDArray[np.float64], sizes: NDArray[np.int64], pool: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(clients, labels) counts: rows add up to `sizes`, columns stay within `pool`.

    `mixes` are weights of the labels for each client; a label of weight 0 is never given. Where a pool
    is too small, all who want it get proportionally less and more of their other labels (iterative
    proportional fitting). A row stays short only if no deal at all could fill it.
    """
    table = mixes / np.maximum(mixes.sum(axis=1, keepdims=True), 1e-300) * sizes[:, np.newaxis]
    for _ in range(ROUNDS):
        table *= _at_most_one(pool, table.sum(axis=0))
        rows = table.sum(axis=1)
        if np.allclose(rows, sizes, rtol=0, atol=1e-7):
            break
        table *= np.where(rows > 0, sizes / np.maximum(rows, 1e-300), 0.0)[:, np.newaxis]
    table *= _at_most_one(pool, table.sum(axis=0))
    table *= _at_most_one(sizes, table.sum(axis=1))[:, np.newaxis]
    counts: NDArray[np.int64] = np.floor(table + 1e-9).astype(np.int64)
    _round_up(counts, table, sizes, pool)
    # First within rounding, which suffices wherever the fractions fit; then by exchanging any samples.
    floor, ceiling = np.floor(table + 1e-9).astype(np.int64), np.ceil(table - 1e-9).astype(np.int64)
    counts = _complete(counts, np.maximum(ceiling - counts, 0), counts - floor, sizes, pool)
    return _complete(counts, np.where(mixes > 0, sizes[:, np.newaxis], 0), counts, sizes, pool)


def _at_most_one(limit: NDArray[np.int64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.minimum(1.0, limit / np.maximum(wanted, 1e-300))


def _round_up(
    counts: NDArray[np.int64],
    table: NDArray[np.float64],
    sizes: NDArray[np.int64],
    pool: NDArray[np.int64],
) -> None:
    """Give one sample more to the largest fractions first, where the row and the column still have room."""
    fractions = table - counts
    row_room, column_room = sizes - counts.sum(axis=1), pool - counts.sum(axis=0)
    for flat in np.argsort(-fractions, axis=None, kind="stable"):
        client, label = divmod(int(flat), counts.shape[1])
        if fractions[client, label] <= 0:
            break
        if row_room[client] > 0 and column_room[label] > 0:
            counts[client, label] += 1
            row_room[client] -= 1
            column_room[label] -= 1


def _complete(
    counts: NDArray[np.int64],
    more: NDArray[np.int64],
    fewer: NDArray[np.int64],
    sizes: NDArray[np.int64],
    pool: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Fill rows that are short (maximum flow); each count may grow by `more` and shrink by `fewer`."""
    short, left = sizes - counts.sum(axis=1), pool - counts.sum(axis=0)
    if not short.any() or not left.any():
        return counts
    clients, labels = counts.shape
    source, sink = clients + labels, clients + labels + 1
    capacity = np.zeros((sink + 1, sink + 1), dtype=np.int32)
    capacity[source, :clients] = short
    capacity[clients:source, sink] = left
    capacity[:clients, clients:source] = more
    capacity[clients:source, :clients] = fewer.T
    flow = scipy.sparse.csgraph.maximum_flow(scipy.sparse.csr_array(capacity), source, sink).flow.toarray()
    changed: NDArray[np.int64] = counts + flow[:clients, clients:source].astype(np.int64)
    return changed
