"""Small states and batches for testing one piece at a time."""

from typing import Any

import numpy as np

from flockwise.pieces.batch import Batch
from flockwise.pieces.state import State, first_state


def state(
    labels: Any, models: int | None = None, dimension: int = 3, apart: Any = None, **memory: Any
) -> State:
    """A state with these labels; model k is filled with the number k."""
    labels = np.asarray(labels, dtype=np.int64)
    count = models if models is not None else int(labels.max(initial=0)) + 1
    rows = np.repeat(np.arange(count, dtype=np.float32)[:, None], dimension, axis=1)
    start = first_state(rows, len(labels))
    away = np.zeros(len(labels), np.int8) if apart is None else np.asarray(apart, np.int8)
    return State(start.round, start.models, labels, away, memory)


def batch(clients: Any, updates: Any, round: int = 1, features: Any = None, losses: Any = None) -> Batch:
    """Replies of these clients, all sent a model of zeros."""
    clients, updates = np.asarray(clients, np.int64), np.asarray(updates, np.float32)
    count = len(clients)
    return Batch(
        round, clients, updates, np.zeros_like(updates), np.ones(count), np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count) if losses is None else np.asarray(losses, float),
        np.full((count, 3), np.nan) if features is None else np.asarray(features, float),
    )  # fmt: skip
