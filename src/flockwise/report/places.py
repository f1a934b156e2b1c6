"""Where each client was in each round: which flock, set apart, or nowhere yet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flockwise.report.encoding import number, numbers, packed
from flockwise.store import Run

UNPLACED, QUARANTINED, CONFIRMED = -1, -2, -3  # beside the flocks 0, 1, 2, ...
MOST_CELLS = 600_000  # rounds times clients that go into one page
MOST_FLOCKS = 12  # with a curve of their own
MOST_COLUMNS = 7  # of the flow


@dataclass(frozen=True)
class Places:
    """Places (rounds, clients), with the rounds they belong to."""

    rounds: np.ndarray
    places: np.ndarray

    def of(self, clients: np.ndarray) -> "Places":
        """The same of some clients only."""
        return Places(self.rounds, self.places[:, clients])

    def at(self, round: int) -> np.ndarray | None:
        """The places at a round, or at the last one on record before it."""
        before = np.flatnonzero(self.rounds <= round)
        return self.places[before[-1]] if len(before) else None


def read_places(run: Run) -> Places:
    """Flock and quarantine of every client in one number each."""
    rounds, flock = run.array("flock")
    if flock.ndim != 2:
        return Places(np.zeros(0, np.int64), np.zeros((0, 0), np.int64))
    places = np.maximum(flock.astype(np.int64), UNPLACED)
    when, apart = run.array("apart")
    if apart.ndim == 2 and apart.shape[1] == places.shape[1]:
        _, here, there = np.intersect1d(rounds, when, return_indices=True)
        rows = places[here]
        rows[apart[there] == 1] = QUARANTINED
        rows[apart[there] == 2] = CONFIRMED
        places[here] = rows
    return Places(rounds, places)


def some_rows(rounds: np.ndarray, clients: int) -> np.ndarray:
    """Which rounds are kept for every client: all, or evenly spaced ones if the page would get too big."""
    most = max(MOST_CELLS // max(clients, 1), 2)
    if len(rounds) <= most:
        return np.arange(len(rounds))
    return np.unique(np.rint(np.linspace(0, len(rounds) - 1, most)).astype(int))


def encoded_places(known: Places) -> dict[str, Any]:
    """Places of every client, as codes: place + 3."""
    rows = some_rows(known.rounds, known.places.shape[1])
    codes = known.places[rows].astype(np.int64) - CONFIRMED
    kind = np.uint8 if codes.max(initial=0) < 256 else np.uint16
    return {"rounds": known.rounds[rows].tolist(), "codes": packed(np.minimum(codes, 65_535).astype(kind))}


def flock_curves(
    known: Places, rounds: np.ndarray, accuracy: np.ndarray, everyone: Places | None = None
) -> list[dict[str, Any]]:
    """Mean and spread of the members' accuracy for each of the largest flocks, with their sizes among `everyone`."""
    whole = everyone or known
    flocks, counts = np.unique(whole.places[whole.places >= 0], return_counts=True)
    largest = np.sort(flocks[np.argsort(-counts, kind="stable")][:MOST_FLOCKS])
    row = {int(round): i for i, round in enumerate(rounds)}
    curves = []
    for flock in largest:
        size, mean, low, high = [], [], [], []
        for round, places, all_places in zip(known.rounds.tolist(), known.places, whole.places, strict=True):
            member = places == flock
            size.append(int((all_places == flock).sum()))
            values = accuracy[row[round], member] if round in row else np.zeros(0)
            values = values[np.isfinite(values)]
            mean.append(values.mean() if len(values) else np.nan)
            ends = np.quantile(values, [0.1, 0.9]) if len(values) else (np.nan, np.nan)
            low.append(ends[0])
            high.append(ends[1])
        curves.append({"flock": int(flock), "size": size, "mean": numbers(mean, 4), "low": numbers(low, 4),
                       "high": numbers(high, 4)})  # fmt: skip
    return curves


def flow(known: Places) -> dict[str, Any]:
    """How many clients went from which place to which, between the rounds in which most changed."""
    if len(known.rounds) < 2:
        return {"columns": [], "links": []}
    changes = np.concatenate([[0], (known.places[1:] != known.places[:-1]).sum(axis=1)]).cumsum()
    wanted = np.linspace(0, 1, MOST_COLUMNS)[1:-1] * changes[-1]
    inner = np.searchsorted(changes, np.maximum(wanted, 1)) if changes[-1] else np.zeros(0, np.int64)
    rows = np.unique([0, *inner.tolist(), len(known.rounds) - 1])
    kept = _largest(known.places[rows])
    before = np.zeros(0, np.int64)
    columns, links = [], []
    for position, row in enumerate(rows):
        here = _merged(known.places[row], kept)
        places, counts = np.unique(here, return_counts=True)
        columns.append(
            {"round": int(known.rounds[row]), "places": places.tolist(), "counts": counts.tolist()}
        )
        if position:
            pairs, weights = np.unique(np.stack([before, here]), axis=1, return_counts=True)
            links += [
                [position - 1, int(a), int(b), int(n)] for (a, b), n in zip(pairs.T, weights, strict=True)
            ]
        before = here
    return {"columns": columns, "links": links, "moved": number(float(changes[-1]))}


OTHERS = 9999  # flocks too small to be drawn by themselves


def _largest(places: np.ndarray) -> np.ndarray:
    flocks, counts = np.unique(places[places >= 0], return_counts=True)
    return np.asarray(flocks[np.argsort(-counts, kind="stable")][:MOST_FLOCKS])


def _merged(places: np.ndarray, kept: np.ndarray) -> np.ndarray:
    return np.where((places < 0) | np.isin(places, kept), places, OTHERS)
