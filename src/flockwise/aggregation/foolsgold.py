"""FoolsGold: the more alike two clients' histories, the less they count; sybils share a goal and so a direction.

Fung, Yoon, Beschastnikh: The Limitations of Federated Learning in Sybil Settings, RAID 2020, algorithm 1. A rule with a
memory: the sum of each client's updates. Takes any number of sybils, but not a lone attacker, and honest clients with
like data are taken for sybils: it is for clients that all differ. Where we differ: the result is a mean, not a sum, so
that it does not grow with the number of clients; all parameters count as features.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.history import History
from flockwise.aggregation.rule import rule
from flockwise.kernels.checks import as_updates, refuse_not_finite
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import gram
from flockwise.kernels.order import rounded
from flockwise.types import Square, Vector

EPSILON = 1e-5  # as in the authors' code
CERTAIN = 0.99
LARGEST = float(np.finfo(np.float32).max)  # a history of huge updates stays a number


@rule(
    "mean with little weight for clients whose histories point one way",
    tolerates="any number of sybils, no lone attacker",
    cost="all pairwise products, K^2 d; keeps a model's size for each client",
    paper="Fung, Yoon and Beschastnikh, The limitations of federated learning in sybil settings, RAID 2020",
    translates=False,
)
def foolsgold(
    updates: Any, clients: Any = None, memory: Mapping[str, np.ndarray] | None = None
) -> tuple[Vector, dict[str, np.ndarray]]:
    """The mean weighted by how little a client's history resembles any other's; zero if all are the same."""
    rows = as_updates(updates)
    history = History.of(memory or {}, clients, rows)
    refuse_not_finite(rows)
    summed = np.clip(history.rows.astype(np.float64) + rows, -LARGEST, LARGEST).astype(np.float32)
    weights = sybil_weights(_cosines(gram(summed)))
    total = weights.sum()
    joint = weighted_sum(rows, weights / total if total > 0 else weights)
    return joint, history.followed_by(summed)


def sybil_weights(alike: Square) -> NDArray[np.float64]:
    """Weights from 0 to 1 by the cosines between histories."""
    alike = alike - np.diag(np.diagonal(alike))
    most = alike.max(axis=1) + EPSILON
    # Pardoning: an honest client that happens to look like a sybil looks less like others than the sybil does.
    with np.errstate(divide="ignore", invalid="ignore"):
        pardoned = np.where(most[:, None] < most, alike * most[:, None] / most, alike)
    np.fill_diagonal(pardoned, 0.0)
    weights = np.asarray(np.clip(1.0 - pardoned.max(axis=1), 0.0, 1.0))
    if weights.max() == 0:
        return np.zeros(len(alike))
    weights = np.minimum(weights / weights.max(), CERTAIN)
    logit = np.log(weights / (1.0 - weights) + EPSILON) + 0.5
    return np.asarray(np.clip(logit, 0.0, 1.0))


def _cosines(products: Square) -> Square:
    lengths = np.sqrt(products.diagonal())
    scale = np.where(lengths > 0, lengths, 1.0)
    return np.asarray(np.clip(rounded(products / scale / scale[:, None]), -1.0, 1.0))
