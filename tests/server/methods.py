"""Every strategy as a server over a hand-made federation."""

from typing import Any

import numpy as np

from flockwise.server import Gate, Server
from flockwise.stages import Method, Setting, State
from flockwise.strategies import STRATEGIES


def make_server(
    name: str | Method, clients: int, dimension: int, *, options: dict[str, Any] | None = None, fraction: float = 1.0,
    gate: Gate | None = None, state: State | None = None, weight_cap: float | None = 5.0,
) -> Server:  # fmt: skip
    """A server of this strategy with its example options, or of a method, with the plain weighted mean."""
    method = (name if isinstance(name, Method) else example_of(name, options)).for_data(dimension, 2)
    initial = np.random.default_rng(0).normal(size=(method.models, dimension)).astype(np.float32)
    truth = (lambda round: np.arange(clients) % 2) if method.reads_truth else None
    setting = Setting(seed=5, fraction=fraction, weight_cap=weight_cap, truth=truth)
    return Server(method, initial, clients, setting=setting, gate=gate, state=state)


def example_of(name: str, options: dict[str, Any] | None = None) -> Method:
    """A strategy's method with these options; with those of its own example, if not given."""
    strategy = STRATEGIES[name]
    method: Method = strategy(**((strategy.example or {}) if options is None else options))
    return method
