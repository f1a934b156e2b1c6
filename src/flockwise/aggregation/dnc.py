"""Divide and conquer: leave out who lies farthest along the direction in which updates differ most.

Shejwalkar, Houmansadr: Manipulating the Byzantine, NDSS 2021, algorithm 2. Some coordinates are drawn, so that the
direction costs little; those whom no draw throws out are averaged.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flockwise.aggregation.rule import majority, rule
from flockwise.aggregation.spectral import centred_products
from flockwise.kernels.checks import as_count, as_updates, need_clients, refuse_not_finite
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import content_order, lowest
from flockwise.options import Count
from flockwise.rng import generator
from flockwise.types import Updates, Vector


@rule(
    "mean of those not far along the direction in which updates differ most",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="pairwise distances in some coordinates, an eigenvector, one pass",
    paper="Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021",
    minimum=majority,
    example={"f": 2},
    bounded=True,
    mean_with={"f": 0},
)
def dnc(
    updates: Any,
    f: int,
    draws: Annotated[Count, "how often coordinates are drawn"] = 5,
    coordinates: Annotated[Count, "how many are drawn each time"] = 10_000,
    filtered: Annotated[
        float, Field(gt=0, allow_inf_nan=False), "how many are left out a draw, times f"
    ] = 1.0,
    seed: int = 0,
) -> Vector:
    """The mean of those who stay in every draw; if nobody does, of those who stay most often."""
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "DnC")
    refuse_not_finite(rows)
    keep = max(1, len(rows) - int(filtered * f + 1e-9))
    stays = np.zeros(len(rows))
    for draw in range(draws if keep < len(rows) else 0):
        stays[_stay(rows, drawn(rows, coordinates, seed, draw), keep)] += 1
    chosen = stays == stays.max()
    return weighted_sum(rows, chosen / chosen.sum())


def drawn(rows: Updates, most: int, seed: int, draw: int) -> Updates:
    """Some coordinates of the updates; all, if there are no more."""
    size = rows.shape[1]
    if size <= most:
        return rows
    places = generator(seed, "dnc", draw).choice(size, size=most, replace=False, shuffle=False)
    return np.ascontiguousarray(rows[:, np.sort(places)])


def _stay(rows: Updates, some: Updates, keep: int) -> NDArray[np.intp]:
    """Who lies least far along the first principal direction of some coordinates."""
    order = content_order(rows)
    away = squared_distances(some)[np.ix_(order, order)]
    products = centred_products(away, np.full(len(rows), 1.0 / len(rows)))
    along = np.empty(len(rows))
    along[order] = (products @ np.linalg.eigh(products)[1][:, -1]) ** 2
    return lowest(along, keep, rows)
