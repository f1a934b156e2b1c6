"""From what a user says of a federation to a config and a method, and from these to a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import Config, parse_config
from flockwise.config.resolving import method_of
from flockwise.errors import ConfigError, InputError, RunError
from flockwise.flower.records import RecordLayout
from flockwise.models.initial_models import initial_models
from flockwise.rng import generator
from flockwise.runs.objects import method_sections
from flockwise.server import Gate, Server
from flockwise.stages.method import Method
from flockwise.stages.report import Report
from flockwise.stages.stage import Setting
from flockwise.stages.state import State
from flockwise.types import Models, Vector


@dataclass(frozen=True)
class Choices:
    """What `Flocks` was given about the method."""

    strategy: str | Method
    clients: int
    options: Mapping[str, Any]
    fraction: float = 1.0
    aggregation: str | Mapping[str, Any] | None = None
    seed: int = 0
    max_norm: float | None = None
    weight_cap: float | None = 5.0
    evaluate_every: int = 1
    checkpoint_every: int = 1

    def config(self, rounds: int) -> Config:
        """The choices as a config, checked; what the run's record keeps."""
        sections = self._sections()
        name, rule = sections["strategy"]["name"], sections["aggregation"].get("name", "mean")
        if rule == "fltrust" or sections["strategy"].get("judge") == "root":
            raise ConfigError(
                f"{name} with {rule}: needs clean data on the server, which a Flower app does not "
                "have; judge by 'validation' or 'largest', or choose another rule"
            )
        content = {
            "name": name.replace(":", "-"), "seed": self.seed, "rounds": rounds, "data": {"name": "own"},
            "split": {"name": "iid", "clients": self.clients}, "model": {"name": "own"},
            "sampling": {"fraction": self.fraction}, **sections,
            "gate": {"max_norm": self.max_norm, "weight_cap": self.weight_cap},
            "evaluation": {"every": max(self.evaluate_every, 1)}, "checkpoint": {"every": self.checkpoint_every},
            "engine": {"name": "flower"},
        }  # fmt: skip
        return parse_config(content, directory=Path.cwd())

    def method(self, config: Config) -> Method:
        """The method that was chosen; one that cannot be had in a Flower app is refused."""
        method = self.strategy if isinstance(self.strategy, Method) else method_of(config, Path.cwd())
        if method.needs_root:  # by a user's own rule
            raise ConfigError(
                f"aggregation.name = {config.aggregation.name!r}: needs clean data on the server, which a Flower app "
                "does not have; choose another rule"
            )
        if method.personal is not None:
            raise ConfigError(
                f"strategy.name = {method.name!r}: what clients keep and how they train is up to the ClientApp; let it send "
                "only what is shared, and choose 'fedavg' or a clustered method here"
            )
        if not isinstance(method.report, Report | None):
            raise ConfigError(
                f"strategy.name = {method.name!r}: clients tell something of their data, whose size is not known here; "
                "say it with features=... and classes=..."
            )
        if method.reads_truth:
            raise ConfigError(
                f"strategy.name = {method.name!r}: is given the groups of a simulated split, which nobody knows in a "
                "Flower app; choose a method that finds them, such as 'flic'"
            )
        return method

    def _sections(self) -> dict[str, dict[str, Any]]:
        if isinstance(self.strategy, Method):
            if self.options or self.aggregation is not None:
                words = ", ".join([*self.options, *(["aggregation"] if self.aggregation is not None else [])])
                raise InputError(
                    f"{words}: go with a strategy by name; a method has its own, as in flic(warmup=5)"
                )
            return method_sections(self.strategy)
        rule = self.aggregation or "mean"
        return {
            "strategy": {"name": self.strategy, **self.options},
            "aggregation": {"name": rule} if isinstance(rule, str) else dict(rule),
        }


# What Flower's own strategies call it, and what to give instead.
_FLOWERS_NAMES = {
    "fraction_train": "fraction=... is the share of the clients that train in a round",
    "fraction_fit": "fraction=... is the share of the clients that train in a round",
    "fraction_evaluate": "all clients are evaluated every evaluate_every=... rounds; 0: never",
    "min_train_nodes": "start_with=... clients must be online before round 1, and quorum=... must answer",
    "min_evaluate_nodes": "start_with=... clients must be online before round 1, and quorum=... must answer",
    "min_available_nodes": "start_with=... clients must be online before round 1",
    "min_available_clients": "start_with=... clients must be online before round 1",
    "weighted_by_key": "keys=RecordKeys(samples=...) names the metric that updates are weighted by",
    "arrayrecord_key": "keys=RecordKeys(arrays=...) names the record",
    "configrecord_key": "keys=RecordKeys(config=...) names the record",
    "train_metrics_aggr_fn": "metrics are plain means over clients; open_run(run) has those of each client",
    "evaluate_metrics_aggr_fn": "metrics are plain means over clients; open_run(run) has those of each client",
    "on_fit_config_fn": "start(..., train_config=...) takes a function of the round",
    "initial_parameters": "start(grid, initial_arrays) takes the first model",
}


def refuse_flowers_names(options: Mapping[str, Any]) -> None:
    """An option of Flower's own strategies is answered with ours."""
    for name in options:
        if name in _FLOWERS_NAMES:
            raise InputError(f"{name}: Flower's own strategies take it; here {_FLOWERS_NAMES[name]}")


def make_server(
    config: Config, method: Method, layout: RecordLayout, initial: Sequence[Vector], state: State | None
) -> Server:
    """The server of these choices, at the beginning or where a run stopped."""
    if state is not None and state.models.shape[1] != layout.size:
        raise RunError(
            f"initial_arrays hold {layout.size} numbers, the run's models {state.models.shape[1]}: "
            "this run belongs to another model"
        )
    assert config.split.clients is not None
    return Server(
        method, _first(config, method, layout, initial), config.split.clients,
        setting=Setting(config.seed, config.sampling.fraction, layout.layers, layout.learned, config.gate.weight_cap,
                        sketch=config.evidence.sketch),
        gate=Gate(layout.size, config.gate.max_norm), state=state,
    )  # fmt: skip


def _first(config: Config, method: Method, layout: RecordLayout, initial: Sequence[Vector]) -> Models:
    """The models a method starts from: those given, or others made from the only one."""
    if len(initial) >= method.models:
        return np.stack(initial)
    if len(initial) > 1:
        raise InputError(f"initial_arrays = {len(initial)} models: {method.name} starts from {method.models}")
    rng = generator(config.seed, "beginnings")
    return np.stack(list(initial_models(layout.entries, initial[0], method.models, rng)))
