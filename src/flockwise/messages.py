"""What the server and whoever drives it say to each other: plans out, replies in."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from ipaddress import ip_address
from typing import Any, Literal

import numpy as np

from flockwise.kernels.stored import Matrix
from flockwise.types import Clients, Models, Updates, Vector

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
    shares: bool = (
        False  # in a validation plan: also say which share of one's training samples each model fits best
    )

    @cached_property
    def offers(self) -> Mapping[int, tuple[int, ...]]:
        """The rows of models that each client was sent."""
        return {task.client: task.models for task in self.tasks}

    @property
    def bytes_sent(self) -> int:
        """What the models that clients are sent take, without any envelope."""
        models = sum(len(task.models) for task in self.tasks if not is_root(task.client))
        return int(models * self.models.shape[1] * self.models.itemsize)


@dataclass(frozen=True)
class Reply:
    """A trained client's answer: how its model moved away from the one it was sent."""

    client: int
    round: int
    update: Vector
    samples: int
    chosen: int = 0  # which of its task's models it trained
    loss: float = float("nan")  # its training loss in the last epoch
    # What the connection tells, not the client: where the reply comes from, at which hour, of whom. None: not known.
    address: str | None = None
    hour: float | None = None
    user: int | None = None
    report: Mapping[str, np.ndarray] = field(default_factory=dict)  # what the method asked for besides


@dataclass(frozen=True)
class Replies:
    """The replies to one training plan as columns; row i of each belongs to `clients[i]`."""

    round: int
    clients: Clients
    updates: Matrix  # on disk where a round is too large for memory
    samples: np.ndarray  # (clients,) int64
    chosen: np.ndarray  # (clients,) which of the models it was offered each client trained
    losses: np.ndarray  # (clients,) float64
    origins: np.ndarray  # (clients, 3) place, hour and user as numbers, NaN where unknown
    reports: Mapping[str, np.ndarray] = field(default_factory=dict)  # (clients, ...) each

    def __len__(self) -> int:
        return len(self.clients)

    def rows(self, which: np.ndarray) -> "Replies":
        """Some of the replies, given as a mask or as row numbers."""
        if which.dtype == np.bool_ and which.all():
            return self
        reports = {name: column[which] for name, column in self.reports.items()}
        return Replies(
            self.round, self.clients[which], self.updates[which], self.samples[which], self.chosen[which],
            self.losses[which], self.origins[which], reports,
        )  # fmt: skip

    def with_updates(self, rows: np.ndarray, updates: Updates) -> "Replies":
        """The same replies with the updates of some rows replaced."""
        changed = np.array(self.updates)
        changed[rows] = updates
        return replace(self, updates=changed)

    @classmethod
    def stack(
        cls, round: int, replies: Sequence[Reply], dimension: int, names: Iterable[str] = ()
    ) -> "Replies":
        """Single replies, each checked before, laid out as columns."""
        origins = [origin(reply.address, reply.hour, reply.user) for reply in replies]
        return cls(
            round,
            np.array([reply.client for reply in replies], dtype=np.int64),
            np.stack([r.update for r in replies]) if replies else np.zeros((0, dimension), np.float32),
            np.array([reply.samples for reply in replies], dtype=np.int64),
            np.array([reply.chosen for reply in replies], dtype=np.int64),
            np.array([number(reply.loss) for reply in replies], dtype=np.float64),
            np.array(origins, dtype=np.float64).reshape(-1, 3),
            {name: np.stack([r.report[name] for r in replies]) for name in names if replies},
        )


@dataclass(frozen=True)
class Scores:
    """A client's answer to a validation plan: the score of each model on its own validation data.

    A score is what the task says (accuracy, or an error), as it is: `Setting.scoring` knows which way is better. NaN
    stands for nothing to measure on.
    """

    client: int
    round: int
    values: tuple[float, ...]
    samples: int
    losses: tuple[float, ...] = ()  # the mean loss of each model; may be left out
    shares: tuple[
        float, ...
    ] = ()  # of its training samples, those that each model has the lowest loss on; if asked for


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


class Vouched(list[tuple[Any, object]]):
    """Pairs of a client and its answer from an engine that made them itself: the server's own data may be among them."""


def bound(answers: Iterable[object]) -> Vouched:
    """Answers under the numbers that they say they come from: only where you know who made them."""
    return Vouched((getattr(answer, "client", None), answer) for answer in answers)


def origin(address: object, hour: object, user: object) -> tuple[float, float, float]:
    """Where a reply comes from, as numbers."""
    return _place(address), number(hour), number(user)


def number(value: object) -> float:
    """A number as told by a client; one so large that its square overflows counts as not told."""
    told = isinstance(value, float | int | np.number) and not isinstance(
        value, np.timedelta64 | np.complexfloating
    )
    try:
        found = float(value) if told else float("nan")  # type: ignore[arg-type]
    except OverflowError:  # of a whole number
        return float("nan")
    return found if abs(found) < 1e100 else float("nan")


def _place(address: object) -> float:
    """An IP address as a number, so that ranges of it are neighbourhoods; "lat,lon" counts by its longitude."""
    if address is None:
        return float("nan")
    try:
        return float(int(ip_address(str(address))))
    except ValueError:
        latitude, comma, longitude = str(address).partition(",")
        return _text_number(longitude) if comma and latitude else float("nan")


def _text_number(text: str) -> float:
    try:
        return number(float(text))
    except ValueError:
        return float("nan")
