"""Clipping before a rule: shorten the longest updates, to a length given (static) or found among them (ARC).

Allouah, Guerraoui, Gupta, Jellouli, Rizk, Stephan: Adaptive Gradient Clipping for Robust Federated Learning, ICLR 2025
(first: The Vital Role of Gradient Clipping in Byzantine-Resilient Distributed Learning, 2024), algorithm 2. A fixed
length that suits one round suits no other; ARC's follows the updates and keeps the guarantee of the rule behind it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.centered_clipping import Radius, clipping_factors
from flockwise.aggregation.rule import pre_aggregation
from flockwise.kernels.checks import as_count, as_radius, as_updates
from flockwise.kernels.combine import squared_lengths
from flockwise.types import Updates


@pre_aggregation(
    "shorten updates that are longer than a radius",
    tolerates="as the rule behind it",
    cost="two passes",
    example={"radius": 2.0},
    translates=False,
    scales=False,
)
def clipping(updates: Any, radius: Radius = 1.0) -> Updates:
    """A matrix whose rows are the updates, those longer than the radius shortened to it."""
    rows = as_updates(updates)
    return _shortened(rows, squared_lengths(rows), as_radius(radius))


def _fewest(f: int = 0, **options: Any) -> int:
    return f + 1


@pre_aggregation(
    "shorten the 2f (K - f) / K longest updates to the length of the next",
    needs="K >= f + 1",
    tolerates="as the rule behind it",
    cost="two passes",
    paper="Allouah et al., Adaptive gradient clipping for robust federated learning, ICLR 2025",
    minimum=_fewest,
    example={"f": 2},
    translates=False,
    exact_order=True,
)
def adaptive_clipping(updates: Any, f: int) -> Updates:
    """ARC: a matrix whose rows are the updates, the longest of them shortened to the longest of the others."""
    rows = as_updates(updates)
    count = len(rows)
    as_count(f, "f", 0, count - 1)
    squared = squared_lengths(rows)
    clipped = 2 * f * (count - f) // count
    limit = float(np.sqrt(np.sort(squared)[count - clipped - 1]))
    return _shortened(rows, squared, limit)


def _shortened(rows: Updates, squared: NDArray[np.float64], limit: float) -> Updates:
    if limit == 0.0:
        return np.zeros_like(rows)
    return rows * clipping_factors(squared, limit)[:, None].astype(np.float32)
