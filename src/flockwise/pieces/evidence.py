"""What clients are compared on: this round's updates, the newest update, or the newest model of each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flockwise.pieces.batch import Batch
from flockwise.pieces.state import State
from flockwise.similarity import Evidence, cosine
from flockwise.types import Labels, Square, Updates

Layers = tuple[tuple[int, int], ...]  # first and last parameter of each layer


@dataclass(frozen=True)
class Known:
    """What is known of some clients, ready to be compared."""

    clients: Labels
    fetch: Callable[[], Updates]  # the rows, only when asked for: they can be most of a gigabyte
    layers: Layers = ()
    center: np.ndarray | None = None  # a point near all rows, where rows are models
    cached_cosine: Callable[[], Square] | None = None

    @property
    def rows(self) -> Updates:
        """(clients, parameters)"""
        return self.fetch()

    def cosine(self) -> Square:
        """Cosine similarities of the rows, from the running memory where there is one."""
        return self.cached_cosine() if self.cached_cosine else cosine(self.rows)

    def of(self, members: np.ndarray) -> "Known":
        """Only some of the clients."""
        return Known(self.clients[members], lambda: self.rows[members], self.layers, self.center)


@dataclass(frozen=True)
class ThisRound:
    """Only the updates of the clients that took part in this round."""

    layers: Layers = ()

    def remember(self, state: State, batch: Batch) -> State:
        """Nothing outlives the round."""
        return state

    def known(self, state: State, batch: Batch) -> Known:
        """The clients of this round."""
        return Known(batch.clients, lambda: batch.updates, self.layers)


@dataclass(frozen=True)
class LatestUpdates:
    """The newest update of every client heard so far; updates older than `max_age` rounds are ignored."""

    max_age: int | None = None
    layers: Layers = ()

    def remember(self, state: State, batch: Batch) -> State:
        """Replace the rows of this round's clients, in the one memory there is."""
        evidence = self._evidence(state)
        evidence.update(batch.clients, batch.updates, batch.round)
        return state.remember(evidence=evidence)

    def known(self, state: State, batch: Batch) -> Known:
        """Every free client with an update that is not too old."""
        evidence = self._evidence(state)
        usable = np.flatnonzero(evidence.usable(batch.round) & state.free)
        return Known(
            usable,
            lambda: evidence.rows[usable],
            self.layers,
            cached_cosine=lambda: evidence.cosine(batch.round)[np.ix_(usable, usable)],
        )

    def _evidence(self, state: State) -> Evidence:
        if "evidence" in state.memory:
            live: Evidence = state.memory["evidence"]
            return live
        saved = {n.removeprefix("evidence/"): a for n, a in state.memory.items() if n.startswith("evidence/")}
        if saved:
            evidence = Evidence.from_state(saved)
            evidence.max_age = self.max_age  # what the run says now: a fork may have changed it
            return evidence
        return Evidence(state.clients, state.models.shape[1], max_age=self.max_age)


@dataclass(frozen=True)
class LatestModels:
    """The newest local model of every client heard so far."""

    layers: Layers = ()

    def remember(self, state: State, batch: Batch) -> State:
        """Replace the rows of this round's clients."""
        shape = (state.clients, state.models.shape[1])
        models = state.memory.get("latest/models", np.zeros(shape, np.float32))
        heard = state.memory.get("latest/round", np.zeros(state.clients, np.int64))
        # In place: the memory is as large as all clients' models together, and only this server holds it.
        models[batch.clients] = batch.sent + batch.updates
        heard[batch.clients] = batch.round
        return state.remember(**{"latest/models": models, "latest/round": heard})

    def known(self, state: State, batch: Batch) -> Known:
        """Every free client heard so far."""
        usable = np.flatnonzero((state.memory["latest/round"] > 0) & state.free)
        models = state.memory["latest/models"]
        center = models[usable].mean(axis=0, dtype=np.float64).astype(np.float32)
        return Known(usable, lambda: models[usable], self.layers, center)
