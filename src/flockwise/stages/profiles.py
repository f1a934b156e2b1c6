"""What clients do to each of the flocks' models in turn, as evidence: the mean of their updates of each (CFL-GP)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flockwise.stages.attribution import SendsOne
from flockwise.stages.centres import kmeans
from flockwise.stages.evidence import Known, learned
from flockwise.stages.grouping import Found
from flockwise.stages.stage import REPLIES, Round, Setting, Stage, stage
from flockwise.stages.state import Slot, State
from flockwise.types import Models, Rows


class Means(NamedTuple):
    """The mean update of every client of every model, and how many updates it is the mean of."""

    means: np.ndarray  # (clients, models, parameters)
    counts: np.ndarray  # (clients, models)


_MEANS = Slot("profiles", Means, {"means": 0.0, "counts": 0})


@dataclass(frozen=True)
class Profiles(SendsOne):
    """Everyone is sent the same one of k models, another one from look to look, every so many rounds."""

    models: int
    every: int
    needs: frozenset[object] = frozenset({REPLIES, _MEANS})

    def assign(self, state: State, setting: Setting) -> tuple[Models, Rows]:
        """The model whose turn it is; before there are so many, the last there is."""
        row = min(self._turn(state.round + 1), len(state.models) - 1)
        return state.models[row : row + 1], np.zeros(state.clients, dtype=np.int64)

    def _turn(self, round: int) -> int:
        return ((round - 1) // self.every) % self.models

    @property
    def remember(self) -> Stage:
        """The stage that takes this round's updates into the means."""

        def run(round: Round) -> Round:
            batch, turn = round.replies, self._turn(round.number)
            updates = learned(batch.updates, round.setting)
            held = _MEANS.get(round.state) or Means(
                np.zeros((round.state.clients, self.models, updates.shape[1]), np.float32),
                np.zeros((round.state.clients, self.models), np.int64),
            )
            means, counts = held.means.copy(), held.counts.copy()
            counts[batch.clients, turn] += 1
            before = means[batch.clients, turn]
            means[batch.clients, turn] = before + (updates - before) / counts[batch.clients, turn, None]
            return round.to(_MEANS.put(round.state, Means(means, counts)))

        return stage("remember profiles", run, [REPLIES], [_MEANS])

    def known(self, round: Round) -> Known:
        """Every free client with an update of any of the models, each as one row."""
        held = _MEANS.get(round.state)
        assert held is not None
        clients = np.flatnonzero(held.counts.any(axis=1) & round.state.free)
        return Known(clients, lambda: held.means[clients].reshape(len(clients), -1))


@dataclass(frozen=True)
class Spectral:
    """k-means on the k leading singular directions of what is known."""

    flocks: int

    def find(self, known: Known, round: Round) -> Found:
        """k flocks; one, while there are too few clients to tell."""
        if len(known.clients) <= self.flocks:
            return Found(known.clients, np.zeros(len(known.clients), dtype=np.int64))
        labels = kmeans(leading(known.rows, self.flocks), self.flocks, round.setting.seed)
        return Found(known.clients, labels)


def leading(rows: np.ndarray, count: int) -> np.ndarray:
    """Rows by their leading singular directions, largest first."""
    left, values, _ = np.linalg.svd(rows.astype(np.float64), full_matrices=False)
    return np.asarray(left[:, :count] * values[:count], dtype=np.float32)
