"""Norm bounding: clip every update to a length, then take the mean.

Sun, Kairouz, Suresh, McMahan: Can You Really Backdoor Federated Learning?, 2019. Limits what one client
can do in one round; does not stop many small pulls.
"""

from typing import Any

from flockwise.aggregation.centered_clipping import Radius, clipping_factors
from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_radius, as_rows
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.types import Vector


@rule(
    "mean of updates shortened to a radius",
    tolerates="each client pulls at most radius / K",
    cost="two passes",
    example={"radius": 2.0},
    translates=False,
    scales=False,
    bounded=True,
    in_blocks=True,
)
def norm_bound(updates: Any, radius: Radius) -> Vector:
    """The mean of the updates, each shortened to the radius if it is longer."""
    rows = as_rows(updates)
    limit = as_radius(radius)
    return weighted_sum(rows, clipping_factors(squared_lengths(rows), limit) / len(rows))
