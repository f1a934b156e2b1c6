"""What clients keep to themselves, and how they train with it: the clients' side of a personal method.

It goes with any chain on the server's side (`Method(..., personal=...)`): what travels is averaged inside whatever flocks
there are, what stays is each client's own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np

from flockwise.types import Rows, Vector

Step = Callable[
    [Vector], tuple[Vector, float]
]  # how a step on one batch moves a model, and the loss before it
Part = Literal["all", "sent", "kept"]  # of a model: everything, what travels, what stays with the client


class LocalTraining(Protocol):
    """One client's training in one round: its data, its batches, the recipe of the run."""

    @property
    def round(self) -> int:
        """The round, from 1."""

    @property
    def rate(self) -> float:
        """The learning rate."""

    @property
    def kept(self) -> Rows:
        """Where in a model the numbers lie that stay with the client."""

    def fit(self, model: Vector, part: Part = "all", epochs: int | None = None) -> tuple[Vector, float]:
        """The model after some epochs (the recipe's, if not given) in which only this part of it moves, and its loss."""

    def steps(self, epochs: int | None = None) -> Iterator[Step]:
        """The same batch by batch, for methods that do something between two steps."""

    def gradient(self, model: Vector, part: Part = "all") -> Vector:
        """How the mean loss over all samples changes with each number of this part, whatever the recipe."""


@dataclass(frozen=True)
class Personal:
    """The last `head` layers of a model stay with each client and are trained as usual with what it is sent.

    Others say what a client remembers beside its model, and how it trains. `model.travels` in a config, if it is given,
    says by name what travels, in place of `head`. Models are whole: what a client was sent, joined with what it kept.
    """

    head: int = 0
    layer: str = field(default="", kw_only=True)  # or the layer of this name
    plain: ClassVar[bool] = False  # needs steps that are the learning rate times the gradient

    def first(self, model: Vector) -> Vector:
        """What a client remembers before it has ever trained."""
        return np.zeros(0, np.float32)

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """The model after training, of which what travels is sent back; what is remembered; the loss."""
        trained, loss = local.fit(model)
        return trained, memory, loss

    def used(self, model: Vector, memory: Vector) -> Vector:
        """The model that the client uses, given what it was sent last."""
        return model


AS_USUAL = Personal()  # nothing is kept
