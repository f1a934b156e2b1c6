"""What a client keeps between rounds: the tensors that do not travel, then what its training remembers; one row each."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flockwise.models.travel import Travel
from flockwise.stages.personal import Personal
from flockwise.types import Vector


@dataclass(frozen=True)
class Kept:
    """How a client's row is made, and what it makes of a model that the client is sent."""

    travel: Travel
    personal: Personal
    first: Vector  # the whole model before training

    @cached_property
    def first_row(self) -> Vector:
        """The row of a client that has never trained."""
        return self.row(self.first, self.personal.first(self.first))

    @cached_property
    def nothing(self) -> bool:
        """Whether clients keep nothing."""
        return not len(self.first_row)

    def row(self, model: Vector, memory: Vector) -> Vector:
        """The row of a client with this whole model and memory."""
        return np.concatenate([self.travel.own(model), memory]).astype(np.float32, copy=False)

    def memory(self, row: Vector) -> Vector:
        """What of a row is remembered beside the model."""
        return row[self.travel.own_size :]

    def whole(self, sent: Vector, row: Vector) -> Vector:
        """What a client was sent, with what it has kept: what it trains, and compares with others it could be sent."""
        return self.travel.whole(sent, row[: self.travel.own_size])

    def used(self, sent: Vector, row: Vector) -> Vector:
        """The model that the client uses."""
        return self.personal.used(self.whole(sent, row), self.memory(row))
