"""Centred clipping: repeat a mean in which no client can pull further than a radius.

Karimireddy, He, Jaggi: Learning from History for Byzantine Robust Optimization, ICML 2021, equation 4.
Best started from the previous round's result.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_radius, as_rows, as_vector
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.options import Count, NonNegative
from flockwise.types import Vector

Radius = Annotated[NonNegative, "longest allowed length"]


@rule(
    "repeated mean of differences clipped to a radius around the last result",
    tolerates="f < K / 2, each pulls at most radius / K a step",
    cost="two passes a step",
    minimum=majority,
    example={"radius": 2.0},
    translates=False,
    scales=False,
    bounded=True,
    in_blocks=True,
)
def centered_clipping(
    updates: Any, radius: Radius, start: Any = None, steps: Annotated[Count, "iterations"] = 3
) -> Vector:
    """Move `steps` times by the mean of the differences to the updates, each clipped to the radius.

    `start` is zero if not given: the updates then count as they are.
    """
    rows = as_rows(updates)
    limit = as_radius(radius)
    center = None if start is None else as_vector(start, rows.shape[1], "start")
    for _ in range(as_count(steps, "steps", 1)):
        # v + mean(c_i (x_i - v)) without a second matrix: the rows take c_i / K and v keeps the rest.
        shares = clipping_factors(squared_lengths(rows, center), limit) / len(rows)
        moved = weighted_sum(rows, shares)
        if center is not None:
            moved += center * np.float32(1.0 - shares.sum())
        center = moved
    return moved


def clipping_factors(squared: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """The factors that bring lengths down to the radius; 1 for those within."""
    lengths = np.sqrt(squared)
    return np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
