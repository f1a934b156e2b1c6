"""A run of very many clients on a page: exact numbers of all of them, pictures of some, and one line on each by number."""

from typing import Any

import numpy as np

from flockwise.report.encoding import packed
from flockwise.report.places import CONFIRMED, QUARANTINED, UNPLACED, Places
from flockwise.store import Run
from flockwise.store.compact import MANY

SHOWN = 2_000  # clients in pictures that show single ones
MOST_HELD = 100_000_000  # rounds times clients that are read into memory


def is_crowd(run: Run) -> bool:
    """Whether there are too many clients to show all of them."""
    return len(run.clients) >= MANY


def crowd_places(run: Run) -> Places:
    """Where all clients were in some rounds, evenly spaced, the last one always."""
    kept = run.kept("flock")
    most = max(MOST_HELD // max(len(run.clients), 1), 2)
    places = np.rint(np.linspace(0, len(kept) - 1, min(most, len(kept)))).astype(int)
    wanted = {kept[place] for place in places.tolist()}
    rounds, rows = [], []
    for (round, flock), (_, apart) in zip(run.each("flock"), run.each("apart"), strict=False):
        if round in wanted:
            row = np.clip(flock, UNPLACED, np.iinfo(np.int16).max).astype(np.int16)
            row[apart == 1], row[apart == 2] = QUARANTINED, CONFIRMED
            rounds.append(round)
            rows.append(row)
    return Places(np.array(rounds, np.int64), np.stack(rows) if rows else np.zeros((0, 0), np.int16))


def shown_clients(run: Run) -> np.ndarray:
    """The clients in pictures: those that were tested, or if those are too many or none, evenly spaced ones."""
    everyone = len(run.clients)
    when = run.kept(run.scoring.name)
    scores = run.array_at(run.scoring.name, when[-1]) if when else None
    tested = np.flatnonzero(np.isfinite(scores)) if scores is not None else np.zeros(0, np.int64)
    pool = tested if len(tested) else np.arange(everyone)
    return np.asarray(pool[np.unique(np.linspace(0, len(pool) - 1, min(SHOWN, len(pool))).astype(int))])


def some_columns(run: Run, name: str, clients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rounds, values) of an array for some clients only."""
    found = [(round, values[clients]) for round, values in run.each(name)]
    rounds = np.array([round for round, _ in found], np.int64)
    return rounds, np.stack([values for _, values in found]) if found else np.zeros((0, len(clients)))


def lookup(run: Run, known: Places) -> dict[str, Any]:
    """What is known of each client at the end, a few bytes each."""
    times = np.zeros(len(run.clients), np.int64)
    for _, trained in run.each("trained"):
        times += trained
    codes = (known.places[-1] if len(known.places) else np.full(len(times), UNPLACED)) - CONFIRMED
    columns = {"place": codes, "trained": times, "truth": run.client_column("truth") + 1,
               "attacker": run.client_column("attacker")}  # fmt: skip
    return {name: packed(_small(column)) for name, column in columns.items() if column.any()}


def _small(values: np.ndarray) -> np.ndarray:
    kind = np.min_scalar_type(int(values.max(initial=0)))
    return np.asarray(np.maximum(values, 0), dtype=kind if kind.itemsize <= 4 else np.uint32)
