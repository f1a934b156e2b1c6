"""Every strategy as a server over a hand-made federation."""

from typing import Any

import numpy as np

from flockwise.aggregation import RULES
from flockwise.pieces.rules import BoundRule
from flockwise.pieces.state import State
from flockwise.server import Gate, Server
from flockwise.strategies import STRATEGIES, Setting

OPTIONS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "fl-hc": {"rounds_before": 2, "repeat": 3},
    "cfl": {},
    "byzantine-cfl": {},
    "flic": {"warmup": "auto", "patience": 2, "rollback": True, "judge": "validation"},
    "communities": {"attribution": "wnn"},
    "ifca": {"flocks": 2, "restarts": 2, "probe": 2, "warm_start": 1},
    "mini-fl": {"collect": 2},
    "custom": {"when": "every", "first": 2, "every": 2, "follow": 0.1},
}


def make_server(
    name: str, clients: int, dimension: int, *, options: dict[str, Any] | None = None, fraction: float = 1.0,
    gate: Gate | None = None, state: State | None = None, weight_cap: float | None = 5.0,
) -> Server:  # fmt: skip
    """A server of this strategy, with the plain weighted mean."""
    rule = BoundRule("mean", RULES["mean"].function, weighted=True)
    setting = Setting(clients, rule, fraction, seed=5)
    strategy = STRATEGIES[name]
    method = strategy.build(strategy.options(**(OPTIONS[name] if options is None else options)), setting)
    initial = np.random.default_rng(0).normal(size=(method.models, dimension)).astype(np.float32)
    return Server(method, initial, clients, gate, weight_cap, state)
