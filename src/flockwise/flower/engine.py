"""Flower as the engine of a config: nodes do the clients' work, to the same bits as the local engine.

A node is a worker here: the clients of a plan are dealt out over the nodes that are online, one message each.
"""

import contextlib
import json
import math
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from flockwise.config import Config
from flockwise.engine.base import Evaluation
from flockwise.engine.workbench import Workbench, one_thread
from flockwise.errors import EngineError, InputError
from flockwise.flower.mail import Answer, Letter, Mail
from flockwise.flower.records import as_accuracy, read_array
from flockwise.flower.roster import Roster
from flockwise.flower.worker_app import jobs_message
from flockwise.messages import Event, Plan, Reply, Scores, Task, is_root
from flockwise.models import Layout
from flockwise.types import Labels, Models

_GRID: ContextVar[Grid | None] = ContextVar("flockwise-grid", default=None)  # set inside a ServerApp
_MANY = 10_000  # nodes a federation of workers may have
_START = 600.0  # seconds that the first node may take


def open_engine(
    config: Config, bench: Workbench, directory: Path | None, data: Path | None
) -> "FlowerEngine":
    """The engine on the grid of this ServerApp, or on a simulation that lives as long as the engine."""
    grid = _GRID.get()
    if grid is not None:
        return FlowerEngine(grid, bench, config, wanted=1)
    if config.engine.superlink is not None:
        name = config.engine.superlink
        raise EngineError(
            f"engine.superlink = {name!r}: start it, or go on with it, by: "
            f"flockwise run CONFIG --engine flower --superlink {name} --out RUN"
        )
    from flockwise.flower.ray_simulation import RaySimulation

    simulation = RaySimulation(config, directory, data)
    return FlowerEngine(simulation.grid, bench, config, simulation.nodes, simulation)


@contextlib.contextmanager
def serving(grid: Grid) -> Iterator[None]:
    """Within this context, engines of configs use the grid."""
    token = _GRID.set(grid)
    try:
        yield
    finally:
        _GRID.reset(token)


@dataclass
class FlowerEngine:
    """Deals a plan's tasks out over the nodes and gathers what comes back in time."""

    grid: Grid
    bench: Workbench
    config: Config
    wanted: int
    simulation: Any = None
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        one_thread()
        self._mail = Mail(self.grid, pause=0.02 if self.simulation else 0.25)
        self._roster = Roster(_MANY)
        self._dimension = Layout.of(self.bench.module).size
        self._tested: dict[int, tuple[bytes, bool, float, float]] = {}
        self._roster.wait(self.grid, self.wanted, _START)

    def drain_events(self) -> list[Event]:
        """What went wrong with nodes since the last call; clients are told of by number."""
        events, self.events = self.events, []
        return events

    def train(self, plan: Plan) -> list[Reply]:
        """Every client of the plan; those of a node that does not answer are missing."""
        replies = [self._own(plan, task) for task in plan.tasks if is_root(task.client)]
        tasks = [task for task in plan.tasks if not is_root(task.client)]
        work = {t.client: self.bench.samples(t.client, plan.round) * len(t.models) for t in tasks}
        heaviest = sorted(tasks, key=lambda task: (-work[task.client], task.client))
        for answer in self._ask("train", plan.round, plan.models, heaviest):
            replies += self._read(answer, lambda *parts: self._replies(plan, *parts))
        return sorted((reply for reply in replies if reply is not None), key=lambda reply: reply.client)

    def validate(self, plan: Plan) -> list[Scores]:
        """The clients' scores on their validation data (on the server's own data for ROOT)."""
        scores = [self._own_scores(plan, task) for task in plan.tasks if is_root(task.client)]
        tasks = [task for task in plan.tasks if not is_root(task.client)]
        for answer in self._ask("validate", plan.round, plan.models, tasks):
            for client, samples, marks in self._read(answer, _marks):
                accuracies, losses = zip(*marks, strict=True) if marks else ((), ())
                scores.append(Scores(client, plan.round, tuple(accuracies), samples, tuple(losses)))
        return sorted(scores, key=lambda score: score.client)

    def evaluate(self, round: int, models: Models, rows: Labels) -> Evaluation:
        """Only clients whose model (or data) changed are tested again."""
        marks = [np.ascontiguousarray(model).tobytes() for model in models]
        drifted = self.bench.later is not None and round >= self.bench.drift_round
        stale = [
            Task(client, (row,)) for client, row in enumerate(rows.tolist())
            if self._tested.get(client, (b"", False))[:2] != (marks[row], drifted)
        ]  # fmt: skip
        for answer in self._ask("test", round, models, stale):
            for client, _, found in self._read(answer, _marks):
                if 0 <= client < len(rows) and len(found) == 1:
                    self._tested[client] = (marks[rows[client]], drifted, *found[0])
        nothing = (b"", False, math.nan, math.nan)
        known = [self._tested.get(client, nothing) for client in range(len(rows))]
        return Evaluation(np.array([k[2] for k in known]), np.array([k[3] for k in known]))

    def describe(self) -> str:
        """What trains."""
        where = "simulation" if self.simulation else "deployment"
        return f"Flower {where}, {len(self._roster.nodes)} nodes, {self.bench.why}"

    def close(self) -> None:
        """End the simulation, if this engine started one."""
        if self.simulation:
            self.simulation.close()

    def _ask(self, kind: str, round: int, models: Models, tasks: list[Task]) -> list[Answer]:
        """Send each node its share; nobody at all answering is tried again, then an error."""
        for _ in range(self.config.engine.retries + 1 if tasks else 0):
            self.events += [e for e in self._roster.refresh(self.grid) if e.kind != "joined"]
            letters = self._letters(kind, round, models, tasks)
            answers, events = self._mail.exchange(letters, self.config.engine.timeout)
            self.events += [_about(event, self._shares) for event in events]
            if answers:
                return answers
            self.events.append(Event("retry", f"no node could answer in round {round}"))
            with contextlib.suppress(EngineError):
                self._roster.wait(self.grid, 1, 60.0)
        if tasks:
            failed = [event.message for event in self.events if event.kind in ("dropout", "rejected", "late")]
            last = f"; {failed[-1]}" if failed else ""
            raise EngineError(
                f"round {round}: no node answered, {self.config.engine.retries + 1} times{last}"
            )
        return []

    def _letters(self, kind: str, round: int, models: Models, tasks: list[Task]) -> list[Letter]:
        nodes = sorted(self._roster.nodes.items())[: self.config.engine.workers or None]
        self._shares: dict[int, list[int]] = {}
        letters = []
        for place, (number, node) in enumerate(nodes):
            share = tasks[place :: len(nodes)]
            if not share:
                continue
            used = sorted({row for task in share for row in task.models})
            jobs = [{"client": t.client, "rows": [used.index(row) for row in t.models]} for t in share]
            message = jobs_message(node, round, kind, jobs, models[used], self.config.engine.timeout + 60)
            self._shares[number] = [task.client for task in share]
            letters.append(Letter(number, message))
        return letters

    def _read(self, answer: Answer, reader: Any) -> list[Any]:
        """What a node reports, about the clients it was asked for and no others."""
        try:
            reports = json.loads(str(answer.message.content["reports"]["reports"]))
            asked = set(self._shares[answer.client])
            found = [
                reader(report, answer.message.content["arrays"]) for report in reports if report[0] in asked
            ]
        except _MALFORMED as error:
            message = f"reply rejected: node {answer.client}: {type(error).__name__}: {error}"[:200]
            self.events.append(Event("rejected", message, detail={"clients": self._shares[answer.client]}))
            return []
        return found

    def _replies(self, plan: Plan, report: Any, arrays: Any) -> Reply:
        client, samples, chosen, loss = report
        update = read_array(arrays[str(client)], (self._dimension,), str(client))
        return self._reply(plan, client, update, samples, chosen, math.nan if loss is None else float(loss))

    def _reply(
        self, plan: Plan, client: int, update: np.ndarray, samples: int, chosen: int, loss: float
    ) -> Reply:
        shard = self.bench.root if is_root(client) else self.bench.federation.shards[client]
        return Reply(client, plan.round, update, samples, chosen, loss, getattr(shard, "address", None),
                     getattr(shard, "hour", None), getattr(shard, "user", None))  # fmt: skip

    def _own(self, plan: Plan, task: Task) -> Reply | None:
        candidates = plan.models[list(task.models)]
        result = self.bench.train(task.client, plan.round, candidates)
        if result is None:
            return None
        trained, chosen, loss = result
        samples = len(self.bench.data(task.client, "train", plan.round)[1])
        return self._reply(plan, task.client, trained - candidates[chosen], samples, chosen, loss)

    def _own_scores(self, plan: Plan, task: Task) -> Scores:
        marks = [
            self.bench.score(task.client, "validation", plan.round, plan.models[row]) for row in task.models
        ]
        samples = len(self.bench.data(task.client, "validation", plan.round)[1])
        return Scores(
            task.client, plan.round, tuple(m[0] for m in marks), samples, tuple(m[1] for m in marks)
        )


_MALFORMED = (
    InputError,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def _marks(report: Any, arrays: Any) -> tuple[int, int, list[tuple[float, float]]]:
    """Client, samples, and accuracy and loss of each model; anything else is an error."""
    client, samples, marks = report
    if type(client) is not int or type(samples) is not int:
        raise InputError("client and samples must be whole numbers")
    real = []
    for accuracy, loss in marks:
        real.append((as_accuracy(accuracy), math.nan if loss is None else float(loss)))
    return client, samples, real


def _about(event: Event, shares: dict[int, list[int]]) -> Event:
    """An event of a node, told as one of its clients."""
    if event.client is None:
        return event
    clients = shares.get(event.client, [])
    message = f"node {event.client}: {event.message}"
    one = clients[0] if len(clients) == 1 else None
    return Event(event.kind, message, one, {**event.detail, "clients": clients})
