"""What a run in a ServerApp gives back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp.strategy import Result

from flockwise.errors import EngineError
from flockwise.flower.records import RecordLayout
from flockwise.flower.roster import Roster
from flockwise.server import Server
from flockwise.stages.attribution import shared
from flockwise.store import open_run

if TYPE_CHECKING:
    from flockwise.flower.run_directory import RunDirectory


class StoppedEarly(EngineError):
    """A run ended before its last round, or learned nothing; everything is saved. `result` is how far it came."""

    def __init__(self, why: str, result: "FlocksResult") -> None:
        super().__init__(f"{why}; everything is saved, and the same app goes on with {result.run}")
        self.result = result


@dataclass
class FlocksResult(Result):
    """Flower's own result, with `arrays` the model most clients have, and the flocks.

    `models` are the distinct models in use; `model_of` and `flock_of` say by client name which of them, and
    which flock, each client has (-1: none, or set apart). `state` is "finished", or why the run stopped, in the
    result that a `StoppedEarly` holds.
    """

    models: list[ArrayRecord] = field(default_factory=list)
    model_of: dict[str, int] = field(default_factory=dict)
    flock_of: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    state: str = "finished"
    run: Path = Path()


def collect(
    server: Server, layout: RecordLayout, roster: Roster, directory: "RunDirectory", state: str
) -> FlocksResult:
    """The result of a run as it stands."""
    path = directory.writer.path
    models, rows = server.assignment()
    names = [member.name or member.identity for member in roster.members]
    found = open_run(path)
    facts, rounds = found.facts, found.rounds.tolist()
    return FlocksResult(
        arrays=largest_model(server, layout),
        train_metrics_clientapp=_by_round(rounds, facts, {"train_loss": "train_loss", "participants": "replies"}),
        evaluate_metrics_clientapp=_by_round(rounds, facts, {"accuracy": "accuracy", "test_loss": "loss"}),
        evaluate_metrics_serverapp={r: MetricRecord(dict(m)) for r, m in sorted(directory.central.items())},
        models=[layout.record(model) for model in models],
        model_of={name: int(rows[client]) for client, name in enumerate(names)},
        flock_of={name: int(server.state.labels[client]) for client, name in enumerate(names)},
        rounds=server.round, state=state, run=path,
    )  # fmt: skip


def largest_model(server: Server, layout: RecordLayout) -> ArrayRecord:
    """The model that most clients share."""
    models, rows = shared(server.method.serve).assign(server.state, server.setting)
    taking_part = rows[server.state.free]
    return layout.record(models[int(np.bincount(taking_part).argmax()) if len(taking_part) else 0])


def _by_round(
    rounds: list[int], facts: Mapping[str, np.ndarray], names: Mapping[str, str]
) -> dict[int, MetricRecord]:
    found: dict[int, MetricRecord] = {}
    for place, round in enumerate(rounds):
        values = {new: float(facts[old][place]) for old, new in names.items() if old in facts}
        values = {name: value for name, value in values.items() if value == value}
        if values:
            found[round] = MetricRecord(dict(values))
    return found
