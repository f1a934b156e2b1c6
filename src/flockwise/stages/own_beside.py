"""Whole models of clients' own beside the one that is shared: pulled towards it, or mixed with it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from flockwise.stages.personal import LocalTraining, Personal
from flockwise.types import Vector


@dataclass(frozen=True)
class Pulled(Personal):
    """An own model that learns from the client's data and is pulled towards the shared one (Ditto).

    With `sends_own` that is what it sends back, and the shared one is not trained by itself (FedSoft).
    Remembered: 1 once the client has trained, then its model.
    """

    pull: float = 0.1
    sends_own: bool = False
    plain: ClassVar[bool] = True

    def first(self, model: Vector) -> Vector:
        """Nothing yet: it begins from the first model it is sent."""
        return np.zeros(1 + len(model), np.float32)

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """The own model by steps with the pull, the shared one as usual."""
        own, losses = memory[1:] if memory[0] else model, []
        for step in local.steps():
            along, loss = step(own)
            own = own + along - np.float32(local.rate * self.pull) * (own - model)
            losses.append(loss)
        kept = np.concatenate([[np.float32(1)], own])
        if self.sends_own:
            return own, kept, float(np.mean(losses))
        trained, loss = local.fit(model)
        return trained, kept, loss

    def used(self, model: Vector, memory: Vector) -> Vector:
        """Its own, once there is one."""
        return memory[1:] if memory[0] else model


@dataclass(frozen=True)
class Mixed(Personal):
    """A mix of an own model and the shared one, `alpha` of the first; both learn, and so may alpha (APFL).

    Remembered: 1 once the client has trained, its alpha, its model.
    """

    alpha: float = 0.5
    adaptive: bool = True
    plain: ClassVar[bool] = True

    def first(self, model: Vector) -> Vector:
        """Nothing yet: the own model begins from the first one that is sent."""
        return np.concatenate([[0.0, self.alpha], np.zeros_like(model)]).astype(np.float32)

    def train(self, local: LocalTraining, model: Vector, memory: Vector) -> tuple[Vector, Vector, float]:
        """Step by step: the shared model on its own loss, the own one on the loss of the mix."""
        alpha, shared, own = memory[1], model, memory[2:] if memory[0] else model
        losses = []
        for number, step in enumerate(local.steps()):
            along, loss = step(_mixed(alpha, own, shared))  # the learning rate times the gradient at the mix
            away = own - shared
            own, shared = own + alpha * along, shared + step(shared)[0]
            losses.append(loss)
            if self.adaptive and number == 0:
                alpha = np.float32(np.clip(alpha + away.astype(np.float64) @ along, 0.0, 1.0))
        return shared, np.concatenate([[np.float32(1), alpha], own]), float(np.mean(losses))

    def used(self, model: Vector, memory: Vector) -> Vector:
        """The mix of its own and what it was sent last."""
        return _mixed(memory[1], memory[2:], model) if memory[0] else model


def _mixed(alpha: float, own: Vector, shared: Vector) -> Vector:
    weight = np.float32(alpha)
    return weight * own + (np.float32(1) - weight) * shared
