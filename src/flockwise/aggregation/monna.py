"""MoNNA: the mean of the updates nearest to one's own.

Farhadkhani, Guerraoui, Gupta, Hoang, Pinot, Stephan: Robust Collaborative Learning with Linear Gradient Overhead,
ICML 2023. Written for nodes without a server, where each trusts its own vector. Here the server is the one that
trusts itself: the pivot is its own update, trained on the root set. As with FLTrust, what the root set does not
show counts as foreign.
"""

from typing import Any

import numpy as np

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_updates, as_vector, need_clients
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.kernels.order import lowest
from flockwise.types import Vector


@rule(
    "mean of the K - f updates nearest to the server's own",
    needs="K >= 2f + 1 and a root update",
    tolerates="f < K / 2",
    cost="two passes",
    paper="Farhadkhani et al., Robust collaborative learning with linear gradient overhead, ICML 2023",
    minimum=majority,
    example={"f": 2},
    translates=False,
    scales=False,
    bounded=True,
)
def monna(updates: Any, f: int, root: Any) -> Vector:
    """The mean of the K - f updates nearest to the root update; ties by content."""
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "MoNNA")
    pivot = as_vector(root, rows.shape[1], "root")
    kept = len(rows) - f
    coefficients = np.zeros(len(rows))
    coefficients[lowest(squared_lengths(rows, pivot), kept, rows)] = 1.0 / kept
    return weighted_sum(rows, coefficients)
