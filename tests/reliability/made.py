"""A small run directory, and a way to change what lies in its database."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.messages import Event
from flockwise.store import create_run
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.schema import CLIENT_COLUMNS


def make(path: Path, rounds: int = 5, clients: int = 4, **policy: Any) -> Path:
    """A finished run with facts, arrays, events, clients and checkpoints."""
    config = {"rounds": rounds, "seed": 7, "training": {"epochs": 1}, "strategy": {"name": "flic"}}
    environment = {"seed": 7, "python": "3.11", "directory": "."}
    with create_run(path, config, environment, CheckpointPolicy(**{"every": 1, **policy})) as writer:
        writer.clients([{**dict.fromkeys(CLIENT_COLUMNS), "client": number, "name": f"client {number}",
                         "attacker": 0, "train": 10, "validation": 2, "test": 3} for number in range(clients)])  # fmt: skip
        for round in range(1, rounds + 1):
            writer.commit(
                round, 0.25 * round, {"accuracy": round / 10, "flocks": 2.0},
                {"flock": np.arange(clients) % 2, "accuracy": np.full(clients, round / 10, np.float32)},
                [Event("flocks", f"found in round {round}", round % clients, {"sizes": [2, 2]})],
                {"round": np.array([round]), "models": np.full((2, 3), round, np.float32)},
            )  # fmt: skip
        writer.about(state="finished")
    return path


def change(path: Path, *statements: str) -> None:
    """Run SQL on a run's database, behind its back."""
    database = sqlite3.connect(path / "run.sqlite", isolation_level=None)
    try:
        for statement in statements:
            database.execute(statement)
    finally:
        database.close()
