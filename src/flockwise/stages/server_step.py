"""The stage in which the server takes a step of its own along what the clients agreed on.

Reddi et al., "Adaptive federated optimization", ICLR 2021, Algorithm 2; momentum as in Hsu et al. 2019 (FedAvgM). What
a rule has made of the clients' updates is taken for a gradient. Each flock has memories of its own; one that is found
anew starts without.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flockwise.options import Positive
from flockwise.stages.stage import AVERAGED, REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import Slot, flocks_in
from flockwise.types import Mask, Models

Optimizer = Annotated[
    Literal["adam", "yogi", "adagrad", "momentum"], "how the server steps along the joint update"
]
ServerRate = Annotated[Positive, "eta: length of the server's steps"]
Double = NDArray[np.float64]
Decay = Annotated[float, Field(ge=0, lt=1)]


class Moments(NamedTuple):
    """Of each flock: the decayed sum of its joint updates, and of their squares (nothing for momentum)."""

    first: Models  # (flocks, parameters)
    second: Models


_MOMENTS = Slot("moments", Moments, {})
Seconds = Callable[[Double, Double, float], Double]  # v, squared update, beta2 -> v
_SECONDS: dict[str, Seconds] = {
    "adagrad": lambda v, squared, beta2: v + squared,
    "yogi": lambda v, squared, beta2: v - (1 - beta2) * squared * np.sign(v - squared),
    "adam": lambda v, squared, beta2: beta2 * v + (1 - beta2) * squared,
}


@dataclass(frozen=True)
class ServerStep:
    """How the server steps: `tau` bounds how much a coordinate that hardly moves is sped up."""

    optimizer: Literal["adam", "yogi", "adagrad", "momentum"] = "adam"
    rate: float = 0.1
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def step(self, update: Double, first: Double, second: Double) -> tuple[Double, Double, Double]:
        """The step that is taken instead of `update`, and the moments after it, in float64."""
        if self.optimizer == "momentum":
            first = self.beta1 * first + update
            return self.rate * first, first, second
        first = self.beta1 * first + (1 - self.beta1) * update
        second = _SECONDS[self.optimizer](second, update**2, self.beta2)
        return self.rate * first / (np.sqrt(second) + self.tau), first, second


def server_step(by: ServerStep) -> Stage:
    """What averaging has moved is moved by the server's own step instead; put it right behind the averaging.

    Statistics of batches (running means and variances) are averaged as ever: a step along them means nothing. A flock
    nobody answered for stays as it is, and remembers what it did.
    """

    def run(round: Round) -> Round:
        before, after = round.start.models, round.state.models
        moments = _grown(_MOMENTS.get(round.state), after.shape, by.tau)
        learned = _learned(round.setting, after.shape[1])
        first, second, models = moments.first.copy(), moments.second.copy(), after.copy()
        for flock in flocks_in(round.state.labels[round.replies.clients]).tolist():
            sent = before[_came_from(round, flock)]
            update = (after[flock].astype(np.float64) - sent)[learned]
            step, one, two = by.step(
                update, first[flock, learned].astype(np.float64), second[flock, learned].astype(np.float64)
            )
            models[flock, learned] = sent[learned].astype(np.float64) + step
            first[flock, learned], second[flock, learned] = one, two
        state = _MOMENTS.put(round.state, Moments(first, second))
        return round.to(replace(state, models=models))

    return stage("server step", run, [REPLIES, AVERAGED], whole="", relabels=False)


def _came_from(round: Round, flock: int) -> int:
    """The flock whose model its clients were sent: itself, or the one that it was split from in this round."""
    clients = round.replies.clients
    came = round.start.labels[clients[round.state.labels[clients] == flock]]
    return flock if flock in came else int(np.bincount(np.maximum(came, 0)).argmax())


def _grown(held: Moments | None, shape: tuple[int, ...], tau: float) -> Moments:
    """Moments for as many flocks as there are models; what is new starts from nothing, and tau squared."""
    first, second = np.zeros(shape, np.float32), np.full(shape, tau**2, np.float32)
    if held is not None:
        known = min(len(held.first), len(first))
        first[:known], second[:known] = held.first[:known], held.second[:known]
    return Moments(first, second)


def _learned(setting: Setting, size: int) -> Mask:
    if not setting.learned:
        return np.ones(size, dtype=bool)
    mask = np.zeros(size, dtype=bool)
    for start, stop in setting.learned:
        mask[start:stop] = True
    return mask
