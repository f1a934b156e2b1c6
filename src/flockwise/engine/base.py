"""What an engine does for whoever drives a server."""

from typing import NamedTuple, Protocol

import numpy as np

from flockwise.messages import Plan, Reply, Scores
from flockwise.types import Labels, Models


class Evaluation(NamedTuple):
    """How each client's model does on the client's own test data; NaN where it has none."""

    accuracy: np.ndarray  # (clients,)
    loss: np.ndarray  # (clients,)


class Engine(Protocol):
    """Carries out plans. A client that fails or is away is simply missing from the answer."""

    def train(self, plan: Plan) -> list[Reply]:
        """Let every client of the plan train."""

    def validate(self, plan: Plan) -> list[Scores]:
        """Let every client of the plan score the plan's models on its validation data."""

    def evaluate(self, round: int, models: Models, rows: Labels) -> Evaluation:
        """Test every client's model; the result goes on the record and nowhere else."""

    def describe(self) -> str:
        """One line for the user: what trains, on how many cores, and why."""

    def close(self) -> None:
        """Stop workers and free memory."""
