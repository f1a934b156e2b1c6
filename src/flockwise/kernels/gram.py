"""Inner products and squared distances of rows: float32 products of column blocks, summed in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.checks import refuse_not_finite
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Square, Updates, Vector

BLOCK = 8192
PARTS = 8  # fixed number of partial sums, so that the order of summation does not depend on the threads
FEW = 128  # clients; up to here half of the products in C++ take less time than all of them in BLAS
CLOSE = 0.02  # below this share of the norms a distance has lost more than a factor 50 of its precision


def gram(rows: Updates, center: Vector | None = None) -> Square:
    """Inner products of the rows (minus `center`); refuses rows that are not finite."""

    def block(piece: slice, double: bool) -> NDArray[Any]:
        return _own_block(rows, center, piece, double)

    with np.errstate(over="ignore", invalid="ignore"):
        compiled = native.pair_sums("products", rows, center) if len(rows) <= FEW else None
        products = _summed(block, rows, len(rows), False) if compiled is None else compiled
        if not _trustworthy(products.diagonal(), rows, center):
            refuse_not_finite(rows)
            products = _summed(block, rows, len(rows), True)
    return products


def cross(left: Updates, right: Updates, members: NDArray[np.intp]) -> Square:
    """Inner products of the rows of `left` with those members of `right`, all finite."""

    def block(piece: slice, double: bool) -> NDArray[Any]:
        if double:
            return np.asarray(left[:, piece].astype(np.float64) @ right[members, piece].astype(np.float64).T)
        return np.asarray(left[:, piece] @ right[members, piece].T)

    with np.errstate(over="ignore", invalid="ignore"):
        products = _summed(block, left, len(members), False)
        if not np.isfinite(products).all():
            products = _summed(block, left, len(members), True)
    return products


def squared_distances(rows: Updates, center: Vector | None = None) -> Square:
    """Squared Euclidean distances of all pairs of rows, right also for rows that are close together.

    |a|^2 + |b|^2 - 2ab loses all digits when a and b nearly agree. Rows that are close compared with
    their length are therefore taken again, relative to one of them, until no close pair is left.
    """
    distances, close = direct_distances(gram(rows, center))
    if not close.any():
        return distances
    for members in connected_groups(close):
        # Relative to a member, the others' lengths are their distances to it. That member leaves the group,
        # so this ends.
        anchor = members[np.argmin(distances[np.ix_(members, members)].sum(axis=1))]
        group = np.ascontiguousarray(rows[members])
        distances[np.ix_(members, members)] = squared_distances(group, rows[anchor])
    return distances


def direct_distances(products: Square) -> tuple[Square, NDArray[np.bool_]]:
    """Squared distances from inner products, and the pairs for which they have lost too many digits."""
    norms = products.diagonal()
    sums = norms[:, None] + norms[None, :]
    distances = np.maximum(sums - 2.0 * products, 0.0)
    np.fill_diagonal(distances, 0.0)
    close = distances < CLOSE * sums
    np.fill_diagonal(close, False)
    return distances, close


def _own_block(rows: Updates, center: Vector | None, piece: slice, double: bool) -> NDArray[Any]:
    block: NDArray[Any] = rows[:, piece]
    if double:
        block = block.astype(np.float64)
    if center is not None:
        block = block - center[piece]
    return np.asarray(block @ block.T)


def _summed(
    block: Callable[[slice, bool], NDArray[Any]], left: Updates, columns: int, double: bool
) -> Square:
    pieces = blocks(left.shape[1], BLOCK)
    # Fewer partial sums for very many clients: 128 MB at most.
    count = min(PARTS, len(pieces), max(1, 2**24 // (len(left) * columns)))
    partial = np.zeros((count, len(left), columns))

    def work(parts: list[slice]) -> None:
        for part in parts:
            number = part.start
            for piece in pieces[len(pieces) * number // count : len(pieces) * (number + 1) // count]:
                partial[number] += block(piece, double)

    each_chunk(work, blocks(count, 1), left.size * columns // 4)
    total: Square = partial[0]
    for number in range(1, count):
        total += partial[number]
    return total


def _trustworthy(norms: NDArray[np.float64], rows: Updates, center: Vector | None) -> bool:
    """Whether float32 neither overflowed nor underflowed in the squares."""
    if not np.isfinite(norms).all():
        return False
    for client in np.flatnonzero(norms < 1e-28 * rows.shape[1]):
        row = rows[client] if center is None else rows[client] - center
        if row.any():
            return False
    return True


def connected_groups(close: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Connected components with more than one member of the graph of close pairs."""
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(close, directed=False)
    groups = [np.flatnonzero(labels == label) for label in range(count)]
    return [members for members in groups if len(members) > 1]
