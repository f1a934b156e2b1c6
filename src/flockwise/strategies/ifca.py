"""IFCA, the iterative federated clustering algorithm (Ghosh et al., NeurIPS 2020).

The server keeps k models and sends all of them to every client of the round; a client trains the one with
the lowest loss on its TRAINING data, and each model is averaged over those who picked it. It assumes that k
is known, and that the random beginnings differ enough to pull the kinds of clients apart; where they do not, try
`restarts`: that many sets of models train in turn for `probe` rounds each, and the set with the lowest training loss
goes on. `warm_start` rounds of plain FedAvg come first; the models then differ from it by a little noise.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from flockwise.pieces.aggregation import PerFlock, Roots
from flockwise.pieces.attribution import Choice
from flockwise.pieces.batch import Batch
from flockwise.pieces.state import State
from flockwise.rng import generator
from flockwise.server.method import Method
from flockwise.strategies.options import Options, Setting
from flockwise.types import Labels, Models


class IfcaOptions(Options):
    """Options of IFCA."""

    flocks: int = Field(2, ge=1, description="k: how many models")
    restarts: int = Field(1, ge=1, description="sets of random beginnings to try")
    probe: int = Field(5, ge=1, description="rounds each set is tried for")
    warm_start: int = Field(0, ge=0, description="rounds of plain FedAvg first")
    noise: float = Field(
        0.01, gt=0, description="warm start: relative size of the noise that sets models apart"
    )


@dataclass(frozen=True)
class Restarting(Choice):
    """Choice among the models of the set at hand; state.models holds all sets, one after the other."""

    flocks: int = 2
    restarts: int = 1
    probe: int = 5
    warm_start: int = 0
    noise: float = 0.01
    seed: int = 0

    def assign(self, state: State) -> tuple[Models, Labels]:
        """All models; a client has the one it picked last, within the set at hand."""
        first = self._first(state)
        return state.models, np.clip(state.labels, first, first + self.flocks - 1)

    def offers(self, state: State, clients: Labels, rows: Labels) -> list[tuple[int, ...]]:
        """The models of the set at hand; the first one alone during the warm start."""
        first = self._first(state)
        many = 1 if state.round < self.warm_start else self.flocks
        return [tuple(range(first, first + many))] * len(clients)

    def relabel(self, state: State, batch: Batch, offers: list[tuple[int, ...]]) -> Labels:
        """A client belongs to the model it picked."""
        return super().relabel(state, batch, offers)

    def _first(self, state: State) -> int:
        if "ifca/best" in state.memory:
            return int(state.memory["ifca/best"][0]) * self.flocks
        return min(max(state.round - self.warm_start, 0) // self.probe, self.restarts - 1) * self.flocks


@dataclass(frozen=True)
class RestartingMean(PerFlock):
    """Mean per model, and the bookkeeping of restarts and the warm start."""

    choice: Restarting = Restarting()

    def step(self, state: State, models: Models, labels: Labels, batch: Batch, roots: Roots) -> Models:
        """Average, then spread the warm-started model when its rounds are over."""
        choice = self.choice
        models = PerFlock.step(self, state, models, labels, batch, roots)
        if choice.warm_start and batch.round == choice.warm_start:
            rng = generator(choice.seed, "ifca warm start")
            scale = choice.noise * float(np.abs(models[0]).mean())
            noise = rng.normal(0.0, scale, size=models.shape)
            models = (models[:1] + noise).astype(np.float32)
        return models


def remember_losses(state: State, batch: Batch, choice: Restarting) -> State:
    """Add this round's training loss to the set at hand; after the last probe, note the best set."""
    if choice.restarts == 1 or "ifca/best" in state.memory or batch.round <= choice.warm_start:
        return state
    turn = min((batch.round - 1 - choice.warm_start) // choice.probe, choice.restarts - 1)
    losses = state.memory.get("ifca/losses", np.full(choice.restarts, np.inf)).copy()
    finite = batch.losses[np.isfinite(batch.losses)]
    losses[turn] = float(np.median(finite)) if len(finite) else np.inf
    state = state.remember(**{"ifca/losses": losses})
    if batch.round - choice.warm_start >= choice.restarts * choice.probe:
        state = state.remember(**{"ifca/best": np.array([int(losses.argmin())])})
    return state


@dataclass(frozen=True)
class Losses:
    """The evidence of IFCA: nothing but the training losses that decide between restarts."""

    choice: Restarting

    def remember(self, state: State, batch: Batch) -> State:
        """Keep the score of the set at hand."""
        return remember_losses(state, batch, self.choice)


def ifca(options: IfcaOptions, setting: Setting) -> Method:
    """k models; each client trains the one that fits it best."""
    choice = Restarting(
        options.flocks, options.restarts, options.probe, options.warm_start, options.noise, setting.seed
    )
    return Method(
        name="ifca",
        sampler=setting.sampler(per_flock=False),
        evidence=Losses(choice),  # type: ignore[arg-type]
        attribution=choice,
        aggregation=RestartingMean(setting.rule, choice),
        models=options.flocks * options.restarts,
        place="largest",
        needs_root=setting.rule.wants_root,
    )
