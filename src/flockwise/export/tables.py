"""A run as four tables: rounds, clients, clients in each round, events."""

import json
from typing import Any

import numpy as np

from flockwise.store import Run
from flockwise.store.summary import client_summary

Table = dict[str, list[Any]]  # column name -> values, all of one length

PER_CLIENT = ("flock", "apart", "trained")


def tables(run: Run) -> dict[str, Table]:
    """Everything that is kept as numbers or words, by name of the table."""
    return {
        "rounds": _rounds(run),
        "clients": _clients(run),
        "client_rounds": _client_rounds(run),
        "events": _events(run),
    }


def _rounds(run: Run) -> Table:
    columns: Table = {"round": run.rounds.tolist(), "seconds": plain(run.seconds)}
    return columns | {name: plain(values) for name, values in run.facts.items()}


def _clients(run: Run) -> Table:
    """Who takes part, and what became of each."""
    known = {int(row["client"]): row for row in run.clients}
    rows = client_summary(run)
    told = ("truth", "attacker", "address", "hour", "user")
    table: Table = {name: [row[name] for row in rows] for name in (rows[0] if rows else ("client", "name"))}
    return table | {name: [known.get(row["client"], {}).get(name) for row in rows] for name in told}


def _client_rounds(run: Run) -> Table:
    """One row for each client and round; None where a value was not kept or not measured."""
    found = {name: run.array(name) for name in (*PER_CLIENT, run.scoring.name, "loss")}
    found = {name: (rounds, values) for name, (rounds, values) in found.items() if values.ndim == 2}
    clients = {values.shape[1] for _, values in found.values()}
    if len(clients) != 1:
        return {"round": [], "client": []}
    count = clients.pop()
    columns: Table = {
        "round": np.repeat(run.rounds, count).tolist(),
        "client": np.tile(np.arange(count), len(run.rounds)).tolist(),
    }
    for name, (rounds, values) in found.items():
        row = {int(round): i for i, round in enumerate(rounds)}
        absent = [None] * count
        columns[name] = [
            v
            for round in run.rounds.tolist()
            for v in (plain(values[row[round]]) if round in row else absent)
        ]
    return columns


def _events(run: Run) -> Table:
    events = run.events
    names: dict[int | None, str] = {client["client"]: client["name"] for client in run.clients}
    return {
        "round": [event.round for event in events], "kind": [event.kind for event in events],
        "client": [event.client for event in events],
        "name": [names.get(event.client) for event in events], "message": [event.message for event in events],
        "detail": [json.dumps(dict(event.detail)) for event in events],
    }  # fmt: skip


def plain(values: np.ndarray) -> list[Any]:
    """Python numbers; None for what is not finite."""
    if values.dtype.kind != "f":
        return list(values.tolist())
    shortest = [float(str(value)) for value in values]  # float32 0.1 becomes 0.1, not 0.10000000149
    return [value if np.isfinite(value) else None for value in shortest]
