"""Bodies that are shared and heads that are not: in which order a client trains the two."""

from dataclasses import dataclass

from flockwise.stages.personal import LocalTraining, Personal
from flockwise.types import Vector


@dataclass(frozen=True)
class HeadThenBody(Personal):
    """First the head alone, on the body as it was sent; then the body alone, under that head (FedRep)."""

    head_epochs: int | None = None  # None: as many as the recipe has

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """In two parts."""
        model, _ = local.fit(model, "kept", self.head_epochs)
        trained, loss = local.fit(model, "sent")
        return trained, memory, loss


@dataclass(frozen=True)
class BodyFirst(Personal):
    """For some rounds the body alone, under the head that everybody began with; then both (FedBABU)."""

    rounds: int = 0

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """The body, until it is time."""
        trained, loss = local.fit(model, "sent" if local.round <= self.rounds else "all")
        return trained, memory, loss
