"""Meamed: the mean of the values around the median, for every coordinate on its own.

Xie, Koyejo, Gupta: Generalized Byzantine-tolerant SGD, 2018, definition 7 (mean around median). Between the median,
which it is for f = K - 1, and the mean, which it is for f = 0.
"""

from typing import Any

import numpy as np

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_rows, need_clients
from flockwise.kernels.closest import closest_to_median
from flockwise.types import Vector


@rule(
    "mean of the K - f values closest to the median of every coordinate",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="a sort of each coordinate, K log K d",
    paper="Xie, Koyejo and Gupta, Generalized Byzantine-tolerant SGD, 2018",
    minimum=majority,
    example={"f": 2},
    bounded=True,
    in_blocks=True,
    mean_with={"f": 0},
)
def meamed(updates: Any, f: int) -> Vector:
    """For every coordinate the mean of the K - f values closest to the median; the lower one of two equally far."""
    rows = as_rows(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "Meamed")
    return closest_to_median(rows, np.arange(len(rows)), len(rows) - f)
