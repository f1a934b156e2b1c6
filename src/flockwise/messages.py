"""What the server and whoever drives it say to each other: plans out, replies in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from flockwise.types import Models, Vector

ROOT = -1  # the server's own clean data, addressed like a client where a method needs it


def root_for(row: int) -> int:
    """The address at which the server's own data trains model `row`: ROOT for the first, then below."""
    return ROOT - row


def is_root(client: int) -> bool:
    """Whether this is the server's own data."""
    return client <= ROOT


@dataclass(frozen=True)
class Task:
    """What one client does: train (or validate) the models in these rows of the plan.

    Several rows in a training plan mean: train the one with the lowest training loss (IFCA).
    """

    client: int
    models: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Plan:
    """What the clients should do next. A round is one training plan, then validation plans if needed."""

    round: int
    kind: Literal["train", "validate"]
    models: Models
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Reply:
    """A trained client's answer: how its model moved away from the one it was sent."""

    client: int
    round: int
    update: Vector
    samples: int
    chosen: int = 0  # which of its task's models it trained
    loss: float = float("nan")  # its training loss in the last epoch
    address: str | None = None
    hour: float | None = None
    user: int | None = None


@dataclass(frozen=True)
class Scores:
    """A client's answer to a validation plan: the accuracy of each model on its own validation data."""

    client: int
    round: int
    accuracies: tuple[float, ...]
    samples: int
    losses: tuple[float, ...] = ()  # the mean loss of each model; may be left out


@dataclass(frozen=True)
class Event:
    """Something that happened in a round and that a person may ask about later."""

    kind: str  # flocks, split, moved, quarantine, released, rollback, rejected, dropout, ...
    message: str
    client: int | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class RoundRecord:
    """What a closed round leaves behind for the record."""

    round: int
    facts: Mapping[str, float]  # one number each: flocks, alpha_cross, modularity, ...
    arrays: Mapping[str, np.ndarray]  # per client, or client by client
    events: tuple[Event, ...]
