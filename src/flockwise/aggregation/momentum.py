"""Momentum of each client before a rule: what a liar adds to one round is averaged with its rounds before.

Karimireddy, He, Jaggi: Learning from History for Byzantine Robust Optimization, ICML 2021, equation 3; Farhadkhani,
Guerraoui, Gupta, Pinot, Stephan, Byzantine Machine Learning Made Easy, ICML 2022. Honest updates differ by chance, and
chance averages out over rounds; a small steady lie, hidden in that difference, then shows. The papers' clients keep their
own momentum; here the server keeps it, so that a liar cannot forge it. Who is away for some rounds goes on from the last.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from flockwise.aggregation.history import History
from flockwise.aggregation.rule import pre_aggregation
from flockwise.kernels.checks import as_updates, refuse_not_finite
from flockwise.types import Updates


@pre_aggregation(
    "each client's moving average over rounds",
    tolerates="as the rule behind it",
    cost="one pass; keeps a model's size for each client",
    paper="Karimireddy, He and Jaggi, Learning from history for Byzantine robust optimization, ICML 2021",
)
def momentum(
    updates: Any,
    clients: Any = None,
    memory: Mapping[str, np.ndarray] | None = None,
    beta: Annotated[float, Field(ge=0, lt=1), "how much of the average stays from round to round"] = 0.9,
) -> tuple[Updates, dict[str, np.ndarray]]:
    """A matrix of beta times the average so far plus 1 - beta times the update; a first update is its own average."""
    rows = as_updates(updates)
    refuse_not_finite(rows)
    so_far = History.of(memory or {}, clients, rows)
    share = np.where(so_far.seen, 1.0 - beta, 1.0)[:, None].astype(np.float32)
    moved = share * rows + (1 - share) * so_far.rows
    return moved, so_far.followed_by(moved)
