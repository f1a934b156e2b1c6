"""Playing a config through on one core, without a run directory, and keeping what happened."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.messages import Event, RoundRecord
from flockwise.metrics import adjusted_rand
from flockwise.runs.assembly import Parts, assemble
from flockwise.runs.loop import one_round
from flockwise.server import Server
from flockwise.stages import FREE, UNPLACED, State

BASE: dict[str, Any] = {
    "seed": 1,
    "rounds": 12,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 12, "groups": 3},
    "model": {"name": "mlp"},
    "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
    "engine": {"workers": 1},
}


@dataclass(frozen=True)
class Played:
    """A finished game: the server, the record of every round, and the honest clients' last accuracy."""

    server: Server
    records: tuple[RoundRecord, ...]
    parts: Parts
    accuracy: np.ndarray

    @property
    def truth(self) -> np.ndarray:
        groups = self.parts.federation.groups
        assert groups is not None
        return groups

    @property
    def labels(self) -> np.ndarray:
        return self.server.state.labels

    @property
    def ari(self) -> float:
        placed = self.labels != UNPLACED
        return adjusted_rand(self.labels[placed], self.truth[placed])

    @property
    def apart(self) -> set[int]:
        return set(np.flatnonzero(self.server.state.apart != FREE).tolist())

    @property
    def attackers(self) -> set[int]:
        return set(self.parts.hazards.attackers)

    @property
    def mean_accuracy(self) -> float:
        honest = [c for c in range(len(self.accuracy)) if c not in self.attackers | self.apart]
        return float(np.nanmean(self.accuracy[honest]))

    def events(self, kind: str) -> list[tuple[int, Event]]:
        return [(r.round, event) for r in self.records for event in r.events if event.kind == kind]


def play(state: State | None = None, **sections: Any) -> Played:
    """Run the base config with some sections replaced, from the start or from a given state."""
    config = parse_config({**BASE, **sections})
    parts = assemble(config, state)
    try:
        records = tuple(
            one_round(parts.server, parts.engine, parts.hazards)[0]
            for _ in range(config.rounds - parts.server.round)
        )
        tested = parts.engine.evaluate(config.rounds, *parts.server.assignment())
    finally:
        parts.engine.close()
    return Played(parts.server, records, parts, tested.score)
