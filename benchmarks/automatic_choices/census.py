"""How far apart all clients' updates are after n rounds of FedAvg, for the benchmark of automatic choices.

Training is the slow part, so its distances are kept in `automatic-choices` in the folder for temporary files
and used again: the benchmark can be stopped, and the choices tried again in seconds. Delete the folder to
train anew.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.messages import Plan, Task
from flockwise.rng import generator
from flockwise.runs.assembly import Parts, assemble
from flockwise.runs.loop import one_round
from flockwise.similarity import cosine, l1, l2

ROUNDS_BEFORE = (1, 3, 5, 10)
WOLF = -1
KEPT = Path(tempfile.gettempdir()) / "automatic-choices"
SPLITS: dict[str, dict[str, Any]] = {
    "label swap": {"name": "label_swap", "groups": 4},
    "rotation": {"name": "rotation", "groups": 4},
    "pathological": {"name": "pathological"},
    "IID": {"name": "iid"},
}


@dataclass(frozen=True)
class Setting:
    """How large the federation is."""

    name: str
    model: str
    clients: int
    samples: int
    fraction: float

    def parts(self, split: str, seed: int, strategy: dict[str, Any]) -> Parts:
        """A federation ready to run."""
        config = {
            "seed": seed,
            "data": {"name": "mnist"},
            "model": {"name": self.model},
            "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
            "sampling": {"fraction": self.fraction},
            "engine": {"workers": 1},
            "split": {**SPLITS[split], "clients": self.clients, "samples": self.samples},
            "strategy": strategy,
        }
        return assemble(parse_config(config), data=Path(os.environ["FLOCKWISE_DATA"]))


REDUCED = Setting("reduced", "mlp", clients=40, samples=300, fraction=0.25)
PAPER = Setting("paper", "cnn", clients=100, samples=600, fraction=0.1)


@dataclass(frozen=True)
class Census:
    """The distances of one all-client round, by metric, and the true groups where there are some."""

    n: int
    squares: dict[str, np.ndarray]
    groups: np.ndarray | None


def censuses(setting: Setting, split: str, seed: int) -> list[Census]:
    """One for each n; `split` may end in ", wolves"."""
    KEPT.mkdir(exist_ok=True)
    path = KEPT / f"{setting.name}-{split.replace(', ', '-').replace(' ', '-')}-seed{seed}.npz"
    if not path.exists():
        plain = split.removesuffix(", wolves")
        arrays: dict[str, np.ndarray] = {}
        for n, updates, groups in _updates(setting, plain, seed):
            if plain != split:
                updates, groups = _with_wolves(updates, groups, seed)
            away = {"l1": l1(updates), "l2": l2(updates), "cosine": np.maximum(1.0 - cosine(updates), 0.0)}
            arrays |= {f"{metric}-{n}": square for metric, square in away.items()}
            if groups is not None:
                arrays["groups"] = groups
        part = path.with_suffix(".part.npz")
        np.savez(part, **arrays)  # type: ignore[arg-type]
        part.replace(path)
    with np.load(path) as kept:
        return [
            Census(
                n, {metric: kept[f"{metric}-{n}"] for metric in ("l1", "l2", "cosine")}, kept.get("groups")
            )
            for n in ROUNDS_BEFORE
        ]


def _updates(setting: Setting, split: str, seed: int) -> Iterator[tuple[int, np.ndarray, np.ndarray | None]]:
    """FedAvg runs once; after n rounds everyone trains the joint model once more, as in FL+HC."""
    parts = setting.parts(split, seed, {"name": "fedavg"})
    everyone = tuple(Task(client) for client in range(parts.federation.clients))
    for n in range(1, max(ROUNDS_BEFORE) + 1):
        one_round(parts.server, parts.engine, parts.hazards)
        if n in ROUNDS_BEFORE:
            replies = parts.engine.train(Plan(n + 1, "train", parts.server.state.models[:1], everyone))
            yield n, replies.updates, parts.federation.groups


def _with_wolves(
    updates: np.ndarray, groups: np.ndarray | None, seed: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Two clients send noise as long as their update, two the reverse of it; their group is WOLF."""
    random = generator(seed, "wolves")
    wolves = random.choice(len(updates), 4, replace=False)
    updates = updates.copy()
    for wolf in wolves[:2]:
        noise = random.normal(size=updates.shape[1])
        updates[wolf] = noise * np.linalg.norm(updates[wolf]) / np.linalg.norm(noise)
    updates[wolves[2:]] *= -1
    if groups is not None:
        groups = groups.copy()
        groups[wolves] = WOLF
    return updates, groups
