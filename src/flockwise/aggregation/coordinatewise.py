"""Median and trimmed mean of every coordinate on its own.

Yin, Chen, Kannan, Bartlett: Byzantine-Robust Distributed Learning, ICML 2018. Both hold while fewer than
half of the clients (or fewer than the trimmed ones) are attackers and honest updates are alike.
"""

import math
from typing import Annotated, Any

from pydantic import Field

from flockwise.aggregation.rule import majority, rule
from flockwise.errors import InputError
from flockwise.kernels.checks import as_rows
from flockwise.kernels.columns import middle_mean
from flockwise.types import Vector


@rule(
    "median of every coordinate",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="a sort of each coordinate, K log K d",
    minimum=majority,
    bounded=True,
    in_blocks=True,
    exact_order=True,
)
def median(updates: Any) -> Vector:
    """The median of every coordinate; the mean of the middle two for an even number of clients."""
    rows = as_rows(updates)
    return middle_mean(rows, (len(rows) - 1) // 2)


def _trimmed(f: int = 0, trim: float = 0.1, **options: Any) -> int:
    if f == 0:
        return 1
    return math.ceil(f / trim - 1e-9) if trim > 0 else 2**31


@rule(
    "mean of every coordinate without its lowest and highest values",
    needs="K >= f / trim",
    tolerates="f <= trim K",
    cost="a sort of each coordinate, K log K d",
    minimum=_trimmed,
    example={"trim": 0.2},
    bounded=True,
    in_blocks=True,
    mean_with={"trim": 0.0},
)
def trimmed_mean(
    updates: Any, trim: Annotated[float, Field(ge=0, lt=0.5), "fraction dropped at each end"] = 0.1
) -> Vector:
    """The mean of every coordinate without the lowest and the highest values.

    `trim` is the fraction dropped at each end, rounded down: 0.1 drops 1 of 10 clients at the bottom and 1
    at the top, which papers that count both ends call 20 %.
    """
    rows = as_rows(updates)
    return middle_mean(rows, trimmed_count(len(rows), trim))


def trimmed_count(clients: int, trim: float) -> int:
    """How many values are dropped at each end."""
    if not 0 <= trim < 0.5:
        raise InputError(f"trim = {trim}: must be from 0 to below 0.5; 0.2 drops 2 of 10 clients at each end")
    # 0.29 * 100 is 28.999999999999996; the small sum makes it the 29 that was meant.
    return math.floor(trim * clients + 1e-9)
