"""The weighted mean: fastest of all, and broken by a single attacker."""

from typing import Any

from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_rows, as_weights
from flockwise.kernels.combine import weighted_sum
from flockwise.types import Vector


@rule(
    "weighted mean of the updates",
    tolerates="no attacker",
    cost="one pass",
    weighted=True,
    mean_with={},
    in_blocks=True,
)
def mean(updates: Any, weights: Any = None) -> Vector:
    """The mean of the clients' updates; weights are scaled to sum to one.

    Another order of clients changes the rounding of float32 at most.
    """
    rows = as_rows(updates)
    return weighted_sum(rows, as_weights(weights, len(rows)))
