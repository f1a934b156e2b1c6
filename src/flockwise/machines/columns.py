"""Replies of many nodes as one set of columns, whatever the order in which they come."""

from collections.abc import Callable

import numpy as np

from flockwise.engine.client_work import ClientWork
from flockwise.machines.node import Answer
from flockwise.messages import Plan, Replies
from flockwise.types import Clients


class Columns:
    """A row for each client of a plan, by the client's number."""

    def __init__(self, work: ClientWork, plan: Plan) -> None:
        self._round = plan.round
        self._clients = np.array(sorted(task.client for task in plan.tasks), dtype=np.int64)
        count, shapes = len(self._clients), work.report.shapes if work.report else {}
        self._updates = np.empty((count, work.travel.size), dtype=np.float32)
        self._samples = np.zeros(count, dtype=np.int64)  # 0: it holds too little to train
        self._chosen = np.zeros(count, dtype=np.int64)
        self._losses = np.full(count, np.nan)
        self._reports = {name: np.zeros((count, *shape)) for name, shape in shapes.items()}

    def put(self, answer: Answer) -> None:
        """What one node found."""
        at = np.searchsorted(self._clients, answer["clients"])
        self._updates[at] = answer["updates"]
        self._samples[at] = answer["samples"]
        self._chosen[at] = answer["chosen"]
        self._losses[at] = answer["losses"]
        for name, column in self._reports.items():
            column[at] = answer["reports"][name]

    def replies(self, origins: Callable[[Clients], np.ndarray]) -> Replies:
        """All of it, but for clients that could not train."""
        whole = Replies(
            self._round, self._clients, self._updates, self._samples, self._chosen, self._losses,
            origins(self._clients), self._reports,
        )  # fmt: skip
        return whole.rows(self._samples > 0)
