"""What lives on a node of the cluster, as a Ray actor: the local engine, for whatever share of a plan it is given.

Arrays, numbers and text go in and out, so that nothing but Ray's own envelope is ever unpickled where a config says all.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import wraps
from typing import Any

import numpy as np

from flockwise.engine.local import LocalEngine
from flockwise.engine.pool import WorkerDied
from flockwise.machines.packing import data_digest, training_digest, unpacked
from flockwise.messages import Plan, Task
from flockwise.types import Clients, Models, Rows

Answer = dict[str, Any]
Held = tuple[Clients, np.ndarray]  # clients, and the rows that they keep


def _told(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """What goes wrong is an answer as well: text, not an exception to be unpickled."""

    @wraps(method)
    def answered(*arguments: Any) -> Answer:
        try:
            return method(*arguments)
        except Exception as error:  # told to the run, which decides
            why = f"{type(error).__name__}: {error}"[:500]
            return {"lost" if isinstance(error, WorkerDied) else "error": why}

    return answered


class Node:
    """Orders are JSON; models come as one array, which the cluster brings to a node once."""

    engine: LocalEngine

    @_told
    def start(self, source: str, objects: Mapping[str, Any] | None, workers: int, most_models: int) -> Answer:
        """Make the work, once for all cores of this node, and say what the run can tell its sameness by."""
        work = unpacked(source, objects)
        data = "" if objects is not None else data_digest(work)
        self.engine = LocalEngine(work, workers, most_models)
        return {"data": data, "trainer": work.why, "bits": training_digest(work)}

    @_told
    def train(self, order: str, models: Models, held: Held | None) -> Answer:
        """Columns of replies, and what the clients keep now."""
        self._receive(held)
        replies = self.engine.train(_plan("train", order, models))
        clients = replies.clients
        return {
            "clients": clients, "updates": replies.updates, "samples": replies.samples, "chosen": replies.chosen,
            "losses": replies.losses, "reports": dict(replies.reports),
            "kept": None if held is None else self.engine.own.rows[clients[clients >= 0]],
        }  # fmt: skip

    @_told
    def validate(self, order: str, models: Models, held: Held | None) -> Answer:
        """Scores, one list a client."""
        self._receive(held)
        scores = self.engine.validate(_plan("validate", order, models))
        return {"scores": json.dumps([astuple(score) for score in scores])}

    @_told
    def test(self, order: str, models: Models, held: Held | None, clients: Clients, rows: Rows) -> Answer:
        """What the task measures and the share fooled, one row a client."""
        self._receive(held)
        said = json.loads(order)
        everyone = np.zeros(len(self.engine.results.rows), dtype=np.int64)
        everyone[clients] = rows
        self.engine.share(models)
        self.engine.test(said["round"], clients, everyone, range(*said["among"]))
        return {"results": self.engine.results.rows[clients]}

    def _receive(self, held: Held | None) -> None:
        if held is not None:
            clients, rows = held
            self.engine.own.rows[clients] = rows


def _plan(kind: Any, order: str, models: Models) -> Plan:
    said = json.loads(order)
    tasks = tuple(Task(client, tuple(rows)) for client, rows in said["tasks"])
    return Plan(said["round"], kind, models, tasks, said["shares"])
