"""Flocks as the clients nearest to each of k centres, which are kept from round to round (FeSEM)."""

from dataclasses import dataclass

import numpy as np

from flockwise.rng import generator
from flockwise.stages.evidence import Known
from flockwise.stages.grouping import Found
from flockwise.stages.stage import Round
from flockwise.stages.state import UNPLACED
from flockwise.stages.timing import FOUND
from flockwise.types import Labels, Models

RESTARTS, ITERATIONS = 10, 100  # of k-means, when there are no centres yet


@dataclass(frozen=True)
class NearestCentre:
    """Every client is in the flock whose model is nearest to its own; the first time, k-means finds the centres.

    A centre that nobody is near to stays where it is. Numbers of flocks are those of their centres.
    """

    flocks: int

    def find(self, known: Known, round: Round) -> Found:
        """One step of assignment; who has no centre yet has trained the largest flock's, and would be nearest to that."""
        state = round.state
        if FOUND.get(state) is not None:
            known = known.of(np.flatnonzero(state.labels[known.clients] != UNPLACED))
        rows = known.rows
        if len(rows) <= self.flocks:  # a centre for each, and nothing to tell apart yet
            return Found(known.clients, np.zeros(len(rows), dtype=np.int64))
        if FOUND.get(state) is None or len(state.models) < self.flocks:
            labels = kmeans(rows, self.flocks, round.setting.seed)
        else:
            labels = nearest(rows, state.models[: self.flocks])[0]
        return Found(known.clients, labels, remember=lambda state: state)


def nearest(rows: Models, centres: Models) -> tuple[Labels, np.ndarray]:
    """The nearest centre of each row, and how far it is, squared; differences are taken before they are squared."""
    away = np.stack([_squares(rows - centre) for centre in centres], axis=1)
    labels = np.asarray(away.argmin(axis=1), dtype=np.int64)
    return labels, away[np.arange(len(rows)), labels]


def kmeans(rows: Models, k: int, seed: int) -> Labels:
    """The best of some runs of Lloyd's algorithm, each from k-means++ beginnings; labels in order of first client."""
    found = [_lloyd(rows, _beginnings(rows, k, generator(seed, "centres", run))) for run in range(RESTARTS)]
    labels = min(found, key=lambda each: each[1])[0]
    _, first, renamed = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[renamed], dtype=np.int64)


def _lloyd(rows: Models, centres: Models) -> tuple[Labels, float]:
    labels, away = nearest(rows, centres)
    for _ in range(ITERATIONS):
        means = [rows[labels == k].mean(axis=0, dtype=np.float64) for k in np.unique(labels)]
        before, (labels, away) = labels, nearest(rows, np.stack(means).astype(np.float32))
        if np.array_equal(labels, before):
            break
    return labels, float(away.sum())


def _beginnings(rows: Models, k: int, rng: np.random.Generator) -> Models:
    """The first centre at random, each further one far from those before."""
    chosen = [int(rng.integers(len(rows)))]
    away = _squares(rows - rows[chosen[0]])
    while len(chosen) < k:
        whole = away.sum()
        chosen.append(int(rng.choice(len(rows), p=away / whole)) if whole > 0 else chosen[-1])
        away = np.minimum(away, _squares(rows - rows[chosen[-1]]))
    return rows[chosen]


def _squares(rows: Models) -> np.ndarray:
    return np.asarray(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
