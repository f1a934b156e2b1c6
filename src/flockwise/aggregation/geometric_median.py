"""The geometric median: the point with the smallest weighted sum of distances to the updates.

Weiszfeld's iteration (1937) with the optimality test of Vardi and Zhang (PNAS 2000); RFA of Pillutla,
Kakade, Harchaoui (IEEE TSP 2022) uses it for federated learning. Holds while attackers have less than half
of the weight. Unlike RFA there is no smoothing: it runs until it no longer moves.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.checks import as_count, as_updates, as_weights
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.kernels.gram import squared_distances
from flockwise.types import Square, Updates, Vector, Weights

# Up to here all pairwise distances cost less than the few passes over the updates that they replace.
PAIRWISE = 200


def geometric_median(updates: Any, weights: Any = None, steps: int = 1000, tolerance: float = 1e-6) -> Vector:
    """The geometric median; ends when no client's coefficient changes by more than `tolerance` of it.

    Where the median is not unique (two clients of equal weight), a point between them: the mean for two.
    An update that holds half of the weight or is optimal itself is returned exactly.
    """
    rows = as_updates(updates)
    shares = as_weights(weights, len(rows))
    as_count(steps, "steps", 1)
    if len(rows) > PAIRWISE:
        return _streamed(rows, shares, steps, tolerance)
    distances = squared_distances(rows)
    single = _optimal_client(distances, shares)
    if single is not None:
        return np.array(rows[single])
    return weighted_sum(rows, _coefficients(distances, shares, steps, tolerance))


def _coefficients(squared: Square, shares: Weights, steps: int, tolerance: float) -> Weights:
    """Weiszfeld's iteration on coefficients: |x_i - sum c x|^2 = (Dc)_i - c'Dc / 2."""
    coefficients = shares
    for _ in range(steps):
        products = squared @ coefficients
        to_center = np.maximum(products - 0.5 * (coefficients @ products), 0.0)
        following = _reweighted(to_center, shares)
        moved = np.abs(following - coefficients).max()
        coefficients = following
        if moved <= tolerance * coefficients.max():
            break
    return coefficients


def _streamed(rows: Updates, shares: Weights, steps: int, tolerance: float) -> Vector:
    """The same iteration with a pass over the updates for each step."""
    coefficients = shares
    center = weighted_sum(rows, coefficients)
    for _ in range(steps):
        following = _reweighted(squared_lengths(rows, center), shares)
        moved = np.abs(following - coefficients).max()
        coefficients = following
        center = weighted_sum(rows, coefficients)
        if moved <= tolerance * coefficients.max():
            break
    return center


def _reweighted(squared: NDArray[np.float64], shares: Weights) -> Weights:
    distances = np.sqrt(squared)
    # Keeps the weight finite where the center meets an update; far below any distance that matters.
    floor = 1e-7 * distances.max()
    if floor == 0.0:
        return shares
    inverse = shares / np.maximum(distances, floor)
    return np.asarray(inverse / inverse.sum())


def _optimal_client(squared: Square, shares: Weights) -> int | None:
    """The client that is itself the geometric median, if one is.

    It can only be the one with the least sum of distances, and it is if the unit pulls of the others add
    up to less than the weight that sits on it.
    """
    distances = np.sqrt(squared)
    best = int(np.argmin(distances @ shares))
    away = distances[best]
    here = away == 0
    if here.all():
        return best
    pulls = np.where(here, 0.0, shares / np.where(here, 1.0, away))
    inner = 0.5 * (squared[best][:, None] + squared[best][None, :] - squared)
    pull = np.sqrt(max(float(pulls @ inner @ pulls), 0.0))
    return best if pull < shares[here].sum() * (1 - 1e-9) else None
