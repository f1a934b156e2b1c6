"""A federation small enough to work out by hand: each client pulls its model to a point of its own."""

from collections.abc import Callable, Sequence

import numpy as np

from flockwise.messages import Plan, Reply, RoundRecord, Scores
from flockwise.server import Server


class FakeEngine:
    """Client k moves half-way to `targets[k]`; a model's accuracy falls with the distance from it."""

    def __init__(self, targets: np.ndarray, groups: Sequence[int] | None = None) -> None:
        self.targets = np.asarray(targets, np.float32)
        self.groups = groups

    def train(self, plan: Plan) -> list[Reply]:
        return [self._reply(plan, task.client, task.models) for task in plan.tasks]

    def validate(self, plan: Plan) -> list[Scores]:
        return [
            Scores(t.client, plan.round, tuple(float(np.exp(-self._away(t.client, plan.models[m]))) for m in t.models),
                   10, tuple(float(self._away(t.client, plan.models[m])) for m in t.models))
            for t in plan.tasks
        ]  # fmt: skip

    def _reply(self, plan: Plan, client: int, rows: tuple[int, ...]) -> Reply:
        chosen = int(np.argmin([self._away(client, plan.models[row]) for row in rows]))
        model = plan.models[rows[chosen]]
        group = self.groups[client] if self.groups is not None else 0
        update = ((self.targets[client] - model) / 2).astype(np.float32)
        return Reply(client, plan.round, update, 10 + client, chosen, 1.0,
                     f"10.{40 * group}.0.{client}", 6.0 * (client % 3), 1000 * (client % 2) + client)  # fmt: skip

    def _away(self, client: int, model: np.ndarray) -> float:
        return float(np.linalg.norm(self.targets[client] - model))


def round_of(
    server: Server, engine: FakeEngine, spoil: Callable[[list[Reply]], list[object]] = list
) -> RoundRecord:
    """One whole round; `spoil` changes the training replies on the way."""
    while True:
        plan = server.ask()
        answers = engine.validate(plan) if plan.kind == "validate" else spoil(engine.train(plan))
        record = server.tell(answers)
        if record is not None:
            return record


def flock_targets(
    groups: Sequence[int], dimension: int = 24, noise: float = 0.1, seed: int = 3
) -> np.ndarray:
    """Targets of clients in groups: close within a group, far between groups."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(max(groups) + 1, dimension))
    return (centers[list(groups)] + noise * rng.normal(size=(len(groups), dimension))).astype(np.float32)
