"""Very many clients as a sparse graph: each is joined to those it is most alike, and nobody is compared with all.

Rows (sketches of updates) are centred first: all clients share most of what they learn, and who is more alike than that
is what matters. Edges weigh what is left of the cosine, or of the distance, nothing below 0.
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from flockwise.clustering.neighbours import ALONE, Neighbours, nearest
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.rng import generator
from flockwise.types import Labels, Updates

NEIGHBOURS = 15  # of each client; with mutual ones an edge each, a client has about 25
SWEEPS = 3  # in which clients join the flock whose mean they are most alike
TYPICAL = 512  # clients from which the distance of any two is known
AT_ONCE = 8192  # rows


def directions(rows: Updates) -> Updates:
    """Rows less their mean, all of length 1; changes what it is given, since a copy may be gigabytes."""
    rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    rows /= np.where(lengths > 0, lengths, 1.0).astype(np.float32)[:, None]
    return rows


def cosine_graph(units: Updates, power: float = 1.0, seed: int = 0, count: int = NEIGHBOURS) -> Any:
    """The graph of those nearest by cosine, of rows as `directions` leaves them, in SciPy's sparse rows."""
    found = nearest(units, min(count, len(units) - 1), seed)
    return _graph(Neighbours(found.ids, np.maximum(found.values, 0.0) ** np.float32(power)))


def distance_graph(rows: Updates, power: float = 1.0, seed: int = 0, count: int = NEIGHBOURS) -> Any:
    """The graph of those nearest by distance: edges weigh 1 for the nearest pair, 0 for clients as far apart as any two."""
    rows -= rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(np.float32)
    # Whoever is nearest has the largest x y - y y / 2: one more column makes it a product.
    asked = np.concatenate([rows, np.ones((len(rows), 1), np.float32)], axis=1)
    answers = np.concatenate([rows, -squares[:, None] / 2], axis=1)
    found = nearest(asked, min(count, len(rows) - 1), seed, answers=answers)
    away = np.sqrt(np.maximum(squares[:, None] - 2 * found.values, 0.0))
    low = float(away[found.ids != ALONE].min(initial=np.inf))
    weights = np.clip(1 - (away - low) / max(_typical(rows, seed) - low, 1e-30), 0.0, 1.0) ** power
    return _graph(Neighbours(found.ids, weights.astype(np.float32)))


def _typical(rows: Updates, seed: int) -> float:
    from scipy.spatial.distance import pdist

    drawn = generator(seed, "typical distance").choice(len(rows), min(TYPICAL, len(rows)), replace=False)
    return float(np.median(pdist(rows[np.sort(drawn)])))


def _graph(found: Neighbours) -> Any:
    clients = len(found.ids)
    kept = (found.ids != ALONE) & (found.values > 0)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    there = scipy.sparse.csr_array((found.values[kept], found.ids[kept], starts), shape=(clients, clients))
    there.sort_indices()
    return there.maximum(there.T.tocsr()).tocsr()  # an edge where either is among the other's nearest


def settle_by_means(units: Updates, labels: Labels, flocks: int, sweeps: int = SWEEPS) -> Labels:
    """Each client in the flock below `flocks` whose mean it is most alike, whatever its label is now.

    A mean of many is known far better than any neighbour.
    """
    for _ in range(sweeps):
        means = directions_of(units, labels)[:flocks]
        after = most_alike(units, means)
        if np.array_equal(after, labels):
            break
        labels = after
    return labels


def directions_of(units: Updates, labels: Labels) -> Updates:
    """The direction of each flock's mean (flocks, numbers)."""
    sums = sums_by(units, labels)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def sums_by(rows: Updates, labels: Labels, flocks: int | None = None) -> NDArray[np.float64]:
    """The sum of each flock's rows."""
    flocks, places = flocks or int(labels.max()) + 1, np.arange(len(labels))
    sums = np.zeros((flocks, rows.shape[1]))
    for piece in blocks(len(rows), AT_ONCE):  # in blocks, so that float64 is kept of few rows only
        some = places[piece]
        member = scipy.sparse.csr_array(
            (np.ones(len(some)), (labels[piece], np.arange(len(some)))), shape=(flocks, len(some))
        )
        sums += member @ rows[piece].astype(np.float64)
    return sums


def most_alike(rows: Updates, means: Updates) -> Labels:
    """Which of the means each row has the largest product with."""
    found = np.empty(len(rows), dtype=np.int64)

    def work(pieces: list[slice]) -> None:
        for piece in pieces:
            found[piece] = (rows[piece] @ means.T).argmax(axis=1)

    each_chunk(work, blocks(len(rows), AT_ONCE), rows.size * len(means))
    return found
