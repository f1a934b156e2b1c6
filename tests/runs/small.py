"""A run that takes a second, and what must be equal between two of them."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.store import open_run

FLIC: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "rounds": 8,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 8, "groups": 2},
    "model": {"name": "softmax"},
    "training": {"epochs": 2, "batch_size": 16, "learning_rate": 0.2},
    "sampling": {"fraction": 0.5},
    "strategy": {"name": "flic", "warmup": 4, "min_separation": 0.0},
    "faults": {"dropout": 0.1},
    "checkpoint": {"every": 1},
    "engine": {"workers": 1},
}


def with_changes(**sections: dict[str, Any]) -> dict[str, Any]:
    """The small run with some sections' fields replaced."""
    return {**FLIC, **{name: {**FLIC.get(name, {}), **fields} for name, fields in sections.items()}}


def fingerprint(path: Path) -> str:
    """A hash of the final state, every metric and every event; times are left out."""
    run = open_run(path)
    mark = hashlib.sha256()
    for name, array in sorted(run.checkpoint().items()):
        mark.update(name.encode() + np.ascontiguousarray(array).tobytes())
    for name, values in run.facts.items():
        mark.update(name.encode() + values.tobytes())
    for name in ("flock", "accuracy", "trained", "loss", "apart", "similarity", "map"):
        rounds, values = run.array(name)
        mark.update(name.encode() + rounds.tobytes() + values.tobytes())
    told = [(e.round, e.kind, e.client, e.message) for e in run.events if e.kind != "damaged"]
    mark.update(repr(told).encode())
    return mark.hexdigest()
