"""Nearest-neighbour mixing: replace every update by the mean of those nearest to it.

Allouah, Farhadkhani, Guerraoui, Gupta, Pinot, Stephan: Fixing by Mixing, AISTATS 2023. Put before another
rule, it lets that rule cope with clients whose data differ.
"""

from typing import Any

import numpy as np

from flockwise.aggregation.rule import pre_aggregation
from flockwise.kernels.checks import as_count, as_updates
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import content_order
from flockwise.kernels.parallel import blocks, each_chunk
from flockwise.types import Updates


def _fewest(f: int = 0, **options: Any) -> int:
    return f + 1


@pre_aggregation(
    "replace each update by the mean of the K - f nearest",
    needs="K >= f + 1",
    tolerates="as the rule behind it",
    cost="distances and a product, K^2 d",
    minimum=_fewest,
    example={"f": 1},
    mean_with={"f": 0},
)
def nearest_neighbor_mixing(updates: Any, f: int) -> Updates:
    """A matrix whose rows are the means of the K - f updates nearest to each update, itself included."""
    rows = as_updates(updates)
    clients = len(rows)
    kept = clients - as_count(f, "f", 0, clients - 1)
    by_content = content_order(rows)
    # Float32 makes distances that differ in rounding only equal, so that the content decides.
    distances = squared_distances(rows).astype(np.float32)[:, by_content]
    distances[np.arange(clients), np.argsort(by_content)] = -1.0  # itself first
    nearest = by_content[np.argsort(distances, axis=1, kind="stable")[:, :kept]]
    shares = np.zeros((clients, clients), dtype=np.float32)
    np.put_along_axis(shares, nearest, np.float32(1.0 / kept), axis=1)
    mixed = np.empty_like(rows)

    def work(pieces: list[slice]) -> None:
        for piece in pieces:
            mixed[:, piece] = shares @ rows[:, piece]

    each_chunk(work, blocks(rows.shape[1], 8192), rows.size * clients // 4)
    return mixed
