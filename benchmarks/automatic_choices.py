"""What FL+HC's `threshold = "auto"` and FLIC's `warmup = "auto"` choose on real MNIST.

Run: FLOCKWISE_DATA=... python benchmarks/automatic_choices.py
Writes benchmarks/results/automatic_choices.json; the table is in docs/automatic-choices.md.

A reduced setting (40 clients with 300 samples, an MLP, a quarter of the clients a round), so that it takes
minutes on one core. Every metric and linkage sees the same updates: FedAvg runs once for each split, and
after n rounds all clients train the joint model once more, as in FL+HC.
"""

import json
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.clustering import agglomerative
from flockwise.config import parse_config
from flockwise.messages import Plan, Task
from flockwise.metrics import adjusted_rand
from flockwise.pieces.separation import separation
from flockwise.pieces.state import UNPLACED
from flockwise.similarity import cosine, l1, l2
from flockwise.simulation.assembly import Parts, assemble
from flockwise.simulation.runner import one_round
from flockwise.strategies.fl_hc import FlHcOptions

ROUNDS_BEFORE = (1, 3, 5, 10)
CELLS = [
    (metric, linkage) for metric in ("l1", "l2", "cosine") for linkage in ("average", "complete", "single")
]
CELLS.append(("l2", "ward"))
FLIC_ROUNDS = 50
BASE: dict[str, Any] = {
    "seed": 1,
    "data": {"name": "mnist"},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
    "sampling": {"fraction": 0.25},
    "engine": {"workers": 1},
}
SPLITS: dict[str, dict[str, Any]] = {
    "label swap": {"name": "label_swap", "groups": 4},
    "rotation": {"name": "rotation", "groups": 4},
    "pathological": {"name": "pathological"},
    "IID": {"name": "iid"},
}


def parts_of(split: dict[str, Any], strategy: dict[str, Any]) -> Parts:
    """A federation of 40 clients, ready to run."""
    config = {**BASE, "split": {**split, "clients": 40, "samples": 300}, "strategy": strategy}
    return assemble(parse_config(config), data=Path(os.environ["FLOCKWISE_DATA"]))


def census_updates(split: dict[str, Any]) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """After each n rounds of FedAvg: everyone's update of the joint model, and the true groups."""
    parts = parts_of(split, {"name": "fedavg"})
    everyone = tuple(Task(client) for client in range(parts.federation.clients))
    for n in range(1, max(ROUNDS_BEFORE) + 1):
        one_round(parts)
        if n in ROUNDS_BEFORE:
            replies = parts.engine.train(Plan(n + 1, "train", parts.server.state.models[:1], everyone))
            yield n, np.stack([reply.update for reply in replies]), parts.federation.groups


def fl_hc_cells(name: str) -> Iterator[dict[str, Any]]:
    """Number of flocks and ARI for every n, metric and linkage, as `fl-hc` itself would decide."""
    limit = FlHcOptions().min_separation
    for n, updates, groups in census_updates(SPLITS[name]):
        squares = {"l1": l1(updates), "l2": l2(updates), "cosine": np.maximum(1.0 - cosine(updates), 0.0)}
        for metric, linkage in CELLS:
            labels = agglomerative(squares[metric], linkage, "auto")  # type: ignore[arg-type]
            apart = separation(squares[metric], labels, "distance")
            kept = labels if apart >= limit else np.zeros_like(labels)
            yield {
                "split": name, "n": n, "metric": metric, "linkage": linkage, "flocks": int(kept.max()) + 1,
                "ari": None if groups is None else round(adjusted_rand(kept, groups), 3),
                "separation": round(apart, 2),
            }  # fmt: skip


def flic_row(name: str) -> dict[str, Any]:
    """The round in which `auto` acts, and whether the flocks are right then."""
    parts = parts_of(SPLITS[name], {"name": "flic", "warmup": "auto"})
    acted = None
    for _ in range(FLIC_ROUNDS):
        record, _ = one_round(parts)
        if any(event.kind == "flocks" for event in record.events):
            acted = record.round
            break
    labels, groups = parts.server.state.labels, parts.federation.groups
    placed = labels != UNPLACED
    ari = None if groups is None else round(adjusted_rand(labels[placed], groups[placed]), 3)
    return {"split": name, "acts_at_round": acted, "watched_rounds": record.round,
            "flocks": parts.server.state.flocks, "ari": ari}  # fmt: skip


def main() -> None:
    """Measure and write."""
    started = time.perf_counter()
    cells = [row for name in ("label swap", "pathological", "IID") for row in fl_hc_cells(name)]
    print(f"FL+HC: {time.perf_counter() - started:.0f} s")
    rows = [flic_row(name) for name in ("label swap", "rotation", "IID")]
    result = {
        "setting": {**BASE, "clients": 40, "samples": 300, "min_separation": FlHcOptions().min_separation},
        "seconds": round(time.perf_counter() - started, 1),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one used",
        "fl-hc": cells,
        "flic": rows,
    }
    path = Path(__file__).parent / "results" / "automatic_choices.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)
    print(f"{result['seconds']} s, written to {path.name}")


if __name__ == "__main__":
    main()
