"""What an engine does for whoever drives a server."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from flockwise.messages import Event, Plan, Replies, Scores
from flockwise.types import Clients, Mask, Models, Rows

if TYPE_CHECKING:
    from flockwise.engine.client_work import ClientWork


class Evaluation(NamedTuple):
    """How each client's model does on the client's own test data; NaN where it has none,
    and where it was not tested."""

    score: np.ndarray  # (clients,) what the task compares models by
    loss: np.ndarray  # (clients,)
    fooled: np.ndarray | None = (
        None  # (clients,) how often the attackers' trigger works; None: nobody has one
    )
    others: Mapping[str, np.ndarray] = MappingProxyType({})  # (clients,) each: the task's other metrics
    sample: Clients | None = None  # who was tested, drawn at random; None: everyone


class Engine(ABC):
    """Carries out plans. A client that fails or is away is simply missing from the answer."""

    # How often a training plan that nobody answers is made and tried again; None: never, and it is no reason to stop.
    retries: int | None = None

    @abstractmethod
    def train(self, plan: Plan) -> Replies:
        """Let every client of the plan train."""

    @abstractmethod
    def validate(self, plan: Plan) -> list[Scores]:
        """Let every client of the plan score the plan's models on its validation data."""

    @abstractmethod
    def evaluate(self, round: int, models: Models, rows: Rows, clients: Clients | None = None) -> Evaluation:
        """Test every client's model, or only those of some clients; the result goes on the record and nowhere else."""

    @abstractmethod
    def describe(self) -> str:
        """One line for the user: what trains, on how many cores, and why."""

    def present(self) -> Mask | None:
        """Look around: who can be reached now; None is everyone."""
        return None

    def wait(self) -> None:  # noqa: B027  most engines have nobody to wait for
        """Nobody answered: come back when somebody may."""

    def events(self) -> list[Event]:
        """What has happened since the last call that a person may ask about."""
        return []

    def clients(self) -> list[dict[str, Any]] | None:
        """Who takes part, for the record, where only the engine knows; None where the federation tells."""
        return None

    def about(self) -> Mapping[str, str]:
        """What must be known of the engine to go on with a run, by name."""
        return {}

    def kept(self) -> Mapping[str, np.ndarray]:
        """What clients keep to themselves between rounds, as far as the engine holds it: for the checkpoint."""
        return {}

    def restore(self, kept: Mapping[str, np.ndarray]) -> None:  # noqa: B027
        """Go on from what clients had kept."""

    def close(self) -> None:  # noqa: B027
        """Stop workers and free memory."""


class Opener(Protocol):
    """An engine to be: opened when a run knows what its clients hold and train."""

    def open(self, work: "ClientWork", most_models: int) -> Engine:
        """The engine for this work; a plan has at most so many models."""
