"""The geometric median: the point with the smallest weighted sum of distances to the updates.

Weiszfeld's iteration (1937) with the optimality test of Vardi and Zhang (PNAS 2000); RFA of Pillutla,
Kakade, Harchaoui (IEEE TSP 2022) uses it for federated learning. Holds while attackers have less than half
of the weight. Unlike RFA there is no smoothing: it runs until it no longer moves.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_rows, as_weights
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.kernels.gram import direct_distances, gram, squared_distances
from flockwise.kernels.stored import Matrix, StoredRows
from flockwise.options import Count, NonNegative
from flockwise.types import Square, Vector, Weights

# Up to here all pairwise distances cost less than the few passes over the updates that they replace.
PAIRWISE = 200
ROUNDING = 3e-8  # of a sum of distances: a distance of nearly nothing is the root of what rounding leaves


@rule(
    "the point with the least sum of distances to the updates",
    needs="K >= 2f + 1",
    tolerates="f < K / 2 (given weights: less than half of the weight)",
    cost="K^2 d",
    minimum=majority,
    bounded=True,
    in_blocks=True,
)
def geometric_median(
    updates: Any,
    weights: Any = None,
    steps: Annotated[Count, "most iterations"] = 200,
    tolerance: Annotated[NonNegative, "relative change that ends it"] = 1e-6,
) -> Vector:
    """The geometric median; ends when no client's coefficient changes by more than `tolerance` of it.

    Where the median is not unique (two clients of equal weight), a point between them: the mean for two.
    An update that holds half of the weight or is optimal itself is returned exactly. Of up to 200 clients none has a
    smaller sum of distances, but for rounding. Close to an update steps may run out: the sum may then exceed the least by
    some 5e-5 of it.
    """
    rows = as_rows(updates)
    shares = as_weights(weights, len(rows))
    as_count(steps, "steps", 1)
    if len(rows) > PAIRWISE or isinstance(rows, StoredRows):
        return _streamed(rows, shares, steps, tolerance)
    products = gram(rows)
    squared, close = direct_distances(products)
    if close.any():
        squared = squared_distances(rows)
        products = gram(rows, rows[np.argmin(np.sqrt(squared) @ shares)])
    distances = np.sqrt(squared)
    sums = distances @ shares
    best = int(np.argmin(sums))
    if _is_optimal(best, products, distances, shares):
        return np.array(rows[best])
    coefficients = _coefficients(products, shares, steps, tolerance)
    # Close to an update the iteration is slow, and may run out of steps when that update is still the better point.
    # By rounding alone it is not: of many points that are as good, another order of clients must not give another.
    if np.sqrt(_squared_to(products, coefficients)) @ shares > sums[best] * (1 + ROUNDING):
        return np.array(rows[best])
    return weighted_sum(rows, coefficients)


def _coefficients(products: Square, shares: Weights, steps: int, tolerance: float) -> Weights:
    """Weiszfeld's iteration on coefficients."""
    coefficients = shares
    for _ in range(steps):
        following = _reweighted(_squared_to(products, coefficients), shares)
        settled = (np.abs(following - coefficients) <= tolerance * following).all()
        coefficients = following
        if settled:
            break
    return coefficients


def _squared_to(products: Square, coefficients: Weights) -> NDArray[np.float64]:
    """Squared distances of all updates to a mixture of them: |x_i - sum c x|^2 = G_ii - 2 (Gc)_i + c'Gc."""
    mixed = products @ coefficients
    return np.asarray(np.maximum(products.diagonal() - 2.0 * mixed + coefficients @ mixed, 0.0))


def _streamed(rows: Matrix, shares: Weights, steps: int, tolerance: float) -> Vector:
    """The same iteration with a pass over the updates for each step."""
    coefficients = shares
    center = weighted_sum(rows, coefficients)
    for _ in range(steps):
        following = _reweighted(squared_lengths(rows, center), shares)
        settled = (np.abs(following - coefficients) <= tolerance * following).all()
        coefficients = following
        center = weighted_sum(rows, coefficients)
        if settled:
            break
    return center


def _reweighted(squared: NDArray[np.float64], shares: Weights) -> Weights:
    distances = np.sqrt(squared)
    if not distances.any():
        return shares
    # Keeps the weight finite where the center meets an update. Of the median, since an attacker can make
    # the largest distance as large as it likes.
    floor = 1e-7 * (np.median(distances) or distances[distances > 0].min())
    inverse = shares / np.maximum(distances, floor)
    return np.asarray(inverse / inverse.sum())


def _is_optimal(best: int, products: Square, distances: Square, shares: Weights) -> bool:
    """Whether the update with the least sum of distances, which alone may be it, is itself the geometric median.

    It is if the unit pulls of the others add up to less than the weight that sits on it.
    """
    away = distances[best]
    here = away == 0
    if here.all():
        return True
    pulls = np.where(here, 0.0, shares / np.where(here, 1.0, away))
    toward = products - products[best][None, :] - products[:, best][:, None] + products[best, best]
    pull = np.sqrt(max(float(pulls @ toward @ pulls), 0.0))
    return bool(pull < shares[here].sum() * (1 - 1e-9))
