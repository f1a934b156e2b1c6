"""Several sets of models, tried one after the other; and a warm start before the models part (IFCA)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from flockwise.rng import generator
from flockwise.stages.attribution import Choice, Offers
from flockwise.stages.batch import Batch
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import UNPLACED, Slot, State
from flockwise.types import Clients, Labels, Models, Rows


class Tried(NamedTuple):
    """The training loss of each set so far, and which is best, once all have been tried."""

    losses: np.ndarray
    best: int | None = None


_TRIED = Slot("ifca", Tried, {})


@dataclass(frozen=True)
class Restarts(Choice):
    """Choice among the models of the set at hand; state.models holds all sets, one after the other."""

    flocks: int = 2
    restarts: int = 1
    probe: int = 5
    warm_start: int = 0
    noise: float = 0.01

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """All models; a client has the one it picked last, within the set at hand."""
        first = self._first(state)
        return state.models, np.clip(state.labels, first, first + self.flocks - 1)

    def offer(self, round: Round, clients: Clients) -> tuple[Models, Offers]:
        """The models of the set at hand; the first one alone during the warm start."""
        first = self._first(round.state)
        many = 1 if round.state.round < self.warm_start else self.flocks
        return round.state.models, [tuple(range(first, first + many))] * len(clients)

    def relabel(self, state: State, batch: Batch, offers: Sequence[tuple[int, ...]]) -> Labels:
        """A client belongs to the model it picked; who has not picked of the set at hand, to what it is given of it."""
        picked = super().relabel(state, batch, offers)
        first = self._first(state)
        return np.where(picked == UNPLACED, picked, np.clip(picked, first, first + self.flocks - 1))

    @property
    def keep_score(self) -> Stage:
        """Add this round's training loss to the set at hand; after the last probe, note the best set."""
        return stage("keep score", self._scored, [REPLIES], whole="")

    @property
    def spread(self) -> Stage:
        """When the warm start is over, every model is its model with a little noise, whoever answered last."""
        return stage("spread", self._spread, whole="")

    def _first(self, state: State) -> int:
        tried = _TRIED.get(state)
        if tried is not None and tried.best is not None:
            return tried.best * self.flocks
        return min(max(state.round - self.warm_start, 0) // self.probe, self.restarts - 1) * self.flocks

    def _scored(self, round: Round) -> Round:
        tried = _TRIED.get(round.state) or Tried(np.full(self.restarts, np.inf))
        since = round.number - self.warm_start
        if self.restarts == 1 or tried.best is not None or since <= 0:
            return round
        losses = tried.losses.copy()
        told = round.replies.replies.losses
        finite = told[np.isfinite(told)]
        losses[min((since - 1) // self.probe, self.restarts - 1)] = (
            float(np.median(finite)) if len(finite) else np.inf
        )
        best = int(losses.argmin()) if since >= self.restarts * self.probe else None
        return round.to(_TRIED.put(round.state, Tried(losses, best)))

    def _spread(self, round: Round) -> Round:
        if not self.warm_start or round.number != self.warm_start:
            return round
        models = round.state.models
        rng = generator(round.setting.seed, "ifca warm start")
        scale = self.noise * float(np.abs(models[0]).mean())
        noise = rng.normal(0.0, scale, size=models.shape)
        return round.to(replace(round.state, models=(models[:1] + noise).astype(np.float32)))
