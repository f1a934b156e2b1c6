"""FLTrust: trust a client as far as it points where the server's own small data set points.

Cao, Fang, Liu, Gong: FLTrust, NDSS 2021, algorithm 2. Takes any number of attackers, but needs a root
update trained on clean data that resembles the clients'.
"""

from typing import Any

import numpy as np

from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_rows, as_vector
from flockwise.kernels.combine import dots, squared_lengths, weighted_sum
from flockwise.types import Vector


@rule(
    "mean weighted by agreement with the server's own update",
    needs="K >= 1 and a root update",
    tolerates="any f",
    cost="three passes",
    translates=False,
    scales=False,
    within=False,
    bounded=True,
    in_blocks=True,
)
def fltrust(updates: Any, root: Any) -> Vector:
    """The mean of the updates scaled to the root's length, weighted by their cosine with it where positive.

    Zero if nobody points the root's way (nobody is trusted) or the root is zero. A zero update has no trust.
    """
    rows = as_rows(updates)
    direction = as_vector(root, rows.shape[1], "root")
    lengths = np.sqrt(squared_lengths(rows))
    root_length = float(np.sqrt(squared_lengths(direction[None, :])[0]))
    if root_length == 0.0:
        return np.zeros_like(direction)
    products = dots(rows, direction)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.where(lengths > 0, products / (lengths * root_length), 0.0)
    trust = np.clip(cosines, 0.0, 1.0)
    if trust.sum() == 0.0:
        return np.zeros_like(direction)
    scales = np.where(lengths > 0, root_length / np.where(lengths > 0, lengths, 1.0), 0.0)
    return weighted_sum(rows, trust / trust.sum() * scales)
