"""What became of each client: its flock, how it does, whether it takes part."""

from typing import Any

import numpy as np

from flockwise.stages.state import CONFIRMED, FREE, QUARANTINED, UNPLACED
from flockwise.store.reader import Run

STATES = {FREE: "takes part", QUARANTINED: "set apart", CONFIRMED: "set apart for good"}


def client_summary(run: Run) -> list[dict[str, Any]]:
    """A row for each client as of the last round on record; None where nothing is known.

    The score (`accuracy`, or what the run's task has) is the newest one measured on its own test data: of a client that
    is set apart, from before.
    """
    names = {int(row["client"]): row for row in run.clients}
    rounds, flock = _per_client(run, "flock")
    _, apart = _per_client(run, "apart")
    _, trained = _per_client(run, "trained")
    score = run.scoring.name
    _, scores = _per_client(run, score)
    count = flock.shape[1] if len(rounds) else len(names)
    latest = latest_values(scores, count)
    rows = []
    for client in range(count):
        known = names.get(client, {})
        label = int(flock[-1, client]) if len(rounds) else UNPLACED
        state = int(apart[-1, client]) if len(apart) else FREE
        rows.append({
            "client": client, "name": known.get("name") or f"client {client}",
            "flock": None if label == UNPLACED else label,
            "state": STATES.get(state, "unknown") if state != FREE or label != UNPLACED else "has no flock yet",
            score: latest[client],
            "rounds_trained": int(trained[:, client].sum()) if len(trained) else 0,
            "train": known.get("train"), "validation": known.get("validation"), "test": known.get("test"),
        })  # fmt: skip
    return rows


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


def _per_client(run: Run, name: str) -> tuple[np.ndarray, np.ndarray]:
    rounds, values = run.array(name)
    return (rounds, values) if values.ndim == 2 else (rounds[:0], np.zeros((0, 0)))
