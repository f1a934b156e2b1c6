"""What became of each client: its flock, how it does, whether it takes part."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from flockwise.stages.state import CONFIRMED, FREE, QUARANTINED, UNPLACED
from flockwise.store.reader import Run
from flockwise.store.schema import KNOWN_ARRAYS

STATES = {FREE: "takes part", QUARANTINED: "set apart", CONFIRMED: "set apart for good"}


def client_summary(run: Run, only: int | None = None, at: int | None = None) -> list[dict[str, Any]]:
    """A row for each client (or of `only` one) as of the last round on record, or of round `at`; None where unknown.

    The score (`accuracy`, or what the run's task has) is the newest one measured on its own test data: of a client that
    is set apart, from before. What else is known of clients comes last, behind a prefix, so that no
    key can take a column's place: `about_place`, say.
    """
    score = run.scoring.name
    flock, apart = newest(run, "flock", at), newest(run, "apart", at)
    count = len(run.clients) if flock is None else len(flock)
    latest, times = last_measured(run, score, count, at)[1], np.zeros(count, dtype=np.int64)
    for _, trained in _rows(run, "trained", count, at):
        times += trained.astype(bool)
    known = {int(row["client"]): row for row in run.clients} if only is None else {}
    if only is not None:
        known = {only: dict(run.clients[only])}
    notes = dict.fromkeys(key for row in known.values() for key in row.get("about") or {})
    rows = []
    for client in range(count) if only is None else [only]:
        told = known.get(client, {})
        label = UNPLACED if flock is None else int(flock[client])
        state = FREE if apart is None or len(apart) != count else int(apart[client])
        rows.append({
            "client": client, "name": told.get("name") or f"client {client}",
            "flock": None if label == UNPLACED else label,
            "state": STATES.get(state, "unknown") if state != FREE or label != UNPLACED else "has no flock yet",
            score: _plain(latest[client]),
            "rounds_trained": int(times[client]),
            "train": told.get("train"), "validation": told.get("validation"), "test": told.get("test"),
            **{f"about_{key}": (told.get("about") or {}).get(key) for key in notes},
        })  # fmt: skip
    return rows


def flock_summary(run: Run) -> list[dict[str, Any]]:
    """A row for each flock as of the last round on record, the largest first: nobody reads a million rows."""
    flock, apart = newest(run, "flock"), newest(run, "apart")
    if flock is None:
        return []
    taking_part = np.ones(len(flock), dtype=bool) if apart is None else apart == FREE
    found, counts = np.unique(flock[taking_part], return_counts=True)
    rows = [
        {"flock": None if label == UNPLACED else int(label), "clients": int(size), "state": STATES[FREE]}
        for size, label in sorted(
            zip(counts.tolist(), found.tolist(), strict=True), key=lambda pair: -pair[0]
        )
    ]
    gone = int((~taking_part).sum())
    return [*rows, {"flock": None, "clients": gone, "state": STATES[QUARANTINED]}] if gone else rows


def measures(run: Run) -> list[str]:
    """What each client was measured by: the score, then the task's other metrics, then the loss on test data."""
    score, loss = run.scoring.name, "test_loss"
    others = [
        name for name in run.array_names if name in run.facts and name not in KNOWN_ARRAYS | {score, loss}
    ]
    return list(dict.fromkeys([score, *others, loss]))


def last_measured(run: Run, name: str, count: int, at: int | None = None) -> tuple[int, np.ndarray]:
    """The newest value of each client up to a round, NaN where there is none, and the last round that had any."""
    latest, last = np.full(count, np.nan), 0
    for round, values in _rows(run, name, count, at):
        latest, last = np.where(np.isfinite(values), values, latest), round
    return last, latest


def newest(run: Run, name: str, at: int | None = None) -> np.ndarray | None:
    """A whole number for each client, from the last round in which they were kept, up to round `at`."""
    rounds = [round for round in run.kept(name) if at is None or round <= at]
    found = run.array_at(name, rounds[-1]) if rounds else None
    return found if found is not None and found.ndim == 1 and found.dtype.kind in "iub" else None


def _rows(run: Run, name: str, count: int, at: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
    """An array of each round, up to `at`, that has a value for each client."""
    for round, values in run.each(name):
        if at is not None and round > at:
            return
        if values.shape == (count,):
            yield round, values


def _plain(value: np.floating[Any]) -> float | None:
    """A number with every digit that was kept: float32 0.1 becomes 0.1, not 0.10000000149."""
    return float(str(np.float32(value))) if np.isfinite(value) else None


def latest_values(values: np.ndarray, clients: int) -> list[float | None]:
    """The newest finite value of each client, or None; every digit that was kept."""
    found: list[float | None] = [None] * clients
    for row in values[::-1]:
        for client in range(clients):
            if found[client] is None and np.isfinite(row[client]):
                found[client] = float(str(row[client]))  # float32 0.1 becomes 0.1, not 0.10000000149
        if None not in found:
            break
    return found
