"""From what a user says of a federation to a config, and from the config to a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import Config, parse_config
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.flower.presence import PresentClients
from flockwise.flower.records import Layout
from flockwise.models.beginnings import beginnings
from flockwise.pieces.state import State
from flockwise.rng import generator
from flockwise.server import Gate, Server
from flockwise.runs.assembly import bind_rule, make_method
from flockwise.strategies import Setting
from flockwise.types import Vector


@dataclass(frozen=True)
class Choices:
    """What `Flocks` was given about the method."""

    strategy: str
    clients: int
    options: Mapping[str, Any]
    fraction: float = 1.0
    aggregation: str | Mapping[str, Any] = "mean"
    seed: int = 0
    max_norm: float | None = None
    weight_cap: float | None = 5.0
    evaluate_every: int = 1

    def config(self, rounds: int) -> Config:
        """The choices as a config, checked; what the run's record keeps."""
        rule = {"name": self.aggregation} if isinstance(self.aggregation, str) else dict(self.aggregation)
        content = {
            "name": self.strategy.replace(":", "-"), "seed": self.seed, "rounds": rounds, "data": {"name": "own"},
            "split": {"name": "iid", "clients": self.clients}, "model": {"name": "own"},
            "sampling": {"fraction": self.fraction}, "strategy": {"name": self.strategy, **self.options},
            "aggregation": rule, "gate": {"max_norm": self.max_norm, "weight_cap": self.weight_cap},
            "evaluation": {"every": max(self.evaluate_every, 1)}, "checkpoint": {"every": 1},
            "engine": {"name": "flower"},
        }  # fmt: skip
        if rule.get("name") == "fltrust" or self.options.get("judge") == "root":
            raise ConfigError(
                f"{self.strategy} with {rule.get('name')}: needs clean data on the server, which a Flower app does not "
                "have; judge by 'validation' or 'largest', or choose another rule"
            )
        return parse_config(content, directory=Path.cwd())


def make_server(
    config: Config, layout: Layout, initial: Sequence[Vector], present: set[int], state: State | None
) -> Server:
    """The server of these choices, at the beginning or where a run stopped."""
    clients = config.split.clients
    assert clients is not None
    rule = bind_rule(config, Path.cwd())
    setting = Setting(clients, rule, config.sampling.fraction, config.seed, layout.layers, Path.cwd())
    method = make_method(config, setting)
    if method.needs_root:  # a user's own rule
        raise ConfigError(
            f"aggregation.name = {config.aggregation.name!r}: needs clean data on the server, which a Flower app does "
            "not have; choose another rule"
        )
    method = replace(method, sampler=PresentClients(method.sampler, present))  # type: ignore[arg-type]
    models = list(initial)
    if len(models) < method.models:
        if len(models) > 1:
            raise InputError(
                f"initial_arrays = {len(models)} models: {method.name} starts from {method.models}"
            )
        rng = generator(config.seed, "beginnings")
        models = list(beginnings(layout.entries, models[0], method.models, rng))
    if state is not None and state.models.shape[1] != layout.size:
        raise RunError(
            f"initial_arrays hold {layout.size} numbers, the run's models {state.models.shape[1]}: "
            "this run belongs to another model"
        )
    gate = Gate(layout.size, config.gate.max_norm)
    return Server(method, np.stack(models), clients, gate, config.gate.weight_cap, state)
