"""The two demonstrations."""

from typing import Any

DEMO: dict[str, Any] = {
    "name": "demo",
    "seed": 1,
    "rounds": 40,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 20, "groups": 4},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
    "sampling": {"fraction": 0.5},
    "strategy": {"name": "flic", "warmup": "auto"},
}

DEMO_ATTACK: dict[str, Any] = {
    **DEMO,
    "name": "demo-attack",
    "split": {"name": "iid", "clients": 20},
    "strategy": {"name": "flic", "warmup": "auto", "judge": "validation", "rollback": True},
    "attack": {"name": "reverse", "clients": 8},
}
