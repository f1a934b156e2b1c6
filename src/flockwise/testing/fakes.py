"""An engine without training: clients pull towards points you choose. For tests of strategies and loops."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from flockwise.engine import Engine, Evaluation
from flockwise.messages import Plan, Replies, Reply, RoundRecord, Scores, Task, bound
from flockwise.rng import generator
from flockwise.server import Server
from flockwise.stages import Report
from flockwise.types import Clients, Models, Rows


class FakeEngine(Engine):
    """Client k moves a model a step towards `goals[k]`; a model's accuracy falls with the distance from it.

    `noise` is added to every step. Clients in `absent` never answer. With `groups`, a client's address says which group
    it is of; its hour and user do not. The server's own data pulls to the mean of all goals. What a
    method asks clients to tell are their goals, in whatever shapes.
    """

    def __init__(
        self, goals: np.ndarray, step: float = 0.5, noise: float = 0.0, absent: Iterable[int] = (),
        groups: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.goals = np.asarray(goals, dtype=np.float32)
        self.step, self.noise, self.absent, self.groups = step, noise, frozenset(absent), groups
        self.shapes: Mapping[str, tuple[int, ...]] = {}

    def telling(self, report: object) -> "FakeEngine":
        """The same engine, whose clients tell what is asked for."""
        if not isinstance(report, Report):
            return self
        told = copy.copy(self)
        told.shapes = report.shapes
        return told

    def train(self, plan: Plan) -> Replies:
        """Everyone asked and present."""
        return Replies.stack(plan.round, self.replies(plan), self.goals.shape[1], self.shapes)

    def replies(self, plan: Plan) -> list[Reply]:
        """The same answers one by one, to be changed or lost on the way."""
        return [self._reply(plan, task) for task in plan.tasks if task.client not in self.absent]

    def validate(self, plan: Plan) -> list[Scores]:
        """Nearness as accuracy, the distance as loss."""
        return [
            Scores(
                task.client, plan.round, tuple(self._accuracy(task.client, plan.models[row]) for row in task.models),
                10, tuple(self.away(task.client, plan.models[row]) for row in task.models),
            )
            for task in plan.tasks if task.client not in self.absent
        ]  # fmt: skip

    def evaluate(self, round: int, models: Models, rows: Rows, clients: Clients | None = None) -> Evaluation:
        """Nearness of each client's model."""
        pairs = [(client, models[row]) for client, row in enumerate(rows)]
        return Evaluation(
            np.array([self._accuracy(client, model) for client, model in pairs]),
            np.array([self.away(client, model) for client, model in pairs]),
        )

    def describe(self) -> str:
        """It only pretends."""
        return "a fake engine"

    def away(self, client: int, model: np.ndarray) -> float:
        """How far a model is from where a client wants it."""
        return float(np.linalg.norm(self._goal(client) - model))

    def _reply(self, plan: Plan, task: Task) -> Reply:
        client, goal = task.client, self._goal(task.client)
        chosen = int(np.argmin([self.away(client, plan.models[row]) for row in task.models]))
        model = plan.models[task.models[chosen]]
        update = ((goal - model) * np.float32(self.step)).astype(np.float32)
        if self.noise:
            rng = generator(0, "fake", plan.round, max(client, 0))
            update = (update + self.noise * rng.normal(size=goal.shape)).astype(np.float32)
        told = {name: np.resize(goal, shape).astype(np.float64) for name, shape in self.shapes.items()}
        if client < 0:
            return Reply(client, plan.round, update, 10, chosen, self.away(client, model), report=told)
        group = self.groups[client] if self.groups is not None else 0
        return Reply(
            client, plan.round, update, 10 + client, chosen, self.away(client, model),
            f"10.{40 * group}.{client // 200}.{client % 200}", 6.0 * (client % 3), 1000 * (client % 2) + client,
            told,
        )  # fmt: skip

    def _goal(self, client: int) -> np.ndarray:
        return np.asarray(self.goals[client] if client >= 0 else self.goals.mean(axis=0))

    def _accuracy(self, client: int, model: np.ndarray) -> float:
        return float(np.exp(-self.away(client, model)))


Spoil = Callable[[list[Reply]], Sequence[object]]


def round_of(server: Server, engine: FakeEngine, spoil: Spoil | None = None) -> RoundRecord:
    """One whole round; `spoil` changes the training replies on the way."""
    engine = engine.telling(server.method.report)
    while True:
        plan = server.ask()
        if plan.kind == "validate":
            record = server.tell(bound(engine.validate(plan)))
        else:
            record = server.tell(bound(spoil(engine.replies(plan))) if spoil else engine.train(plan))
        if record is not None:
            return record


def goals_of(groups: Sequence[int], dimension: int = 24, noise: float = 0.1, seed: int = 3) -> np.ndarray:
    """Goals of clients in groups: close within a group, far between groups."""
    rng = np.random.Generator(np.random.Philox(seed))
    centers = rng.normal(size=(max(groups) + 1, dimension))
    return (centers[list(groups)] + noise * rng.normal(size=(len(groups), dimension))).astype(np.float32)
