"""An engine without training: clients pull towards points you choose. For tests of strategies and loops."""

from collections.abc import Sequence

import numpy as np

from flockwise.engine import Evaluation
from flockwise.messages import Plan, Reply, Scores
from flockwise.rng import generator
from flockwise.types import Labels, Models


class FakeEngine:
    """Each client moves a model a step towards its goal, with a little noise; accuracy is nearness to it."""

    def __init__(
        self, goals: np.ndarray, step: float = 0.5, noise: float = 0.01, absent: Sequence[int] = ()
    ) -> None:
        self.goals = np.asarray(goals, dtype=np.float64)
        self.step, self.noise, self.absent = step, noise, frozenset(absent)

    def train(self, plan: Plan) -> list[Reply]:
        """Everyone asked and present moves the model that lies nearest to its goal."""
        replies = []
        for task in plan.tasks:
            if task.client in self.absent or task.client < 0:
                continue
            goal = self.goals[task.client]
            offered = plan.models[list(task.models)]
            chosen = int(np.linalg.norm(offered - goal, axis=1).argmin())
            noise = self.noise * generator(0, "fake", plan.round, task.client).normal(size=goal.shape)
            update = (self.step * (goal - offered[chosen]) + noise).astype(np.float32)
            loss = float(np.linalg.norm(offered[chosen] - goal))
            replies.append(Reply(task.client, plan.round, update, 10, chosen, loss))
        return replies

    def validate(self, plan: Plan) -> list[Scores]:
        """Nearness as accuracy."""
        present = [task for task in plan.tasks if task.client not in self.absent and task.client >= 0]
        return [
            Scores(
                t.client, plan.round, tuple(self._accuracy(t.client, plan.models[m]) for m in t.models), 10
            )
            for t in present
        ]

    def evaluate(self, round: int, models: Models, rows: Labels) -> Evaluation:
        """Nearness of each client's model."""
        accuracy = np.array([self._accuracy(client, models[row]) for client, row in enumerate(rows)])
        return Evaluation(accuracy, 1.0 - accuracy)

    def describe(self) -> str:
        """It only pretends."""
        return "a fake engine"

    def close(self) -> None:
        """Nothing to stop."""

    def _accuracy(self, client: int, model: np.ndarray) -> float:
        return float(np.exp(-np.linalg.norm(model - self.goals[client])))
