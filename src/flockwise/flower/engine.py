"""Flower as the engine of a run: nodes do the clients' work, to the same bits as the local engine.

A node is a worker here: the clients of a plan are dealt out over the nodes that are online, one message each.
"""

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from flwr.app import Message
from flwr.serverapp import Grid

from flockwise.engine import ClientWork, Engine, Evaluation
from flockwise.engine.client_work import one_thread
from flockwise.errors import EngineError
from flockwise.flower.exchange import KEPT, Answer, Exchange
from flockwise.flower.letters import Letter
from flockwise.flower.roster import Roster
from flockwise.flower.worker_answers import MALFORMED, Scored, read_reply, read_scores, results_of
from flockwise.flower.worker_app import jobs_message
from flockwise.flower.worker_needs import check_nodes_can
from flockwise.messages import Event, Plan, Replies, Reply, Scores, Task, is_root
from flockwise.types import Clients, Models, Rows

_MANY = 10_000  # nodes a federation of workers may have
_START = 600.0  # seconds that the first node may take
_PATIENCE = 60.0  # seconds to wait for a node before a retry
_SLACK = 1 << 20  # bytes of an answer besides its arrays
Found = TypeVar("Found")


@dataclass(frozen=True)
class FlowerGrid:
    """The nodes of a ServerApp's grid as the engine: `run(config, engine=FlowerGrid(grid))`.

    `workers` is how many of them are used at most (0: all), `timeout` how many seconds they have to answer, `retries`
    how often a message that no node answers is sent again. Every node needs the config in its run config.
    """

    grid: Grid
    workers: int = 0
    timeout: float = 3600.0
    retries: int = 3

    def open(self, work: ClientWork, most_models: int) -> "FlowerEngine":
        """Wait for the first node."""
        check_nodes_can(work)
        return FlowerEngine(self.grid, work, self.workers, self.timeout, self.retries)


@dataclass
class FlowerEngine(Engine):
    """Deals a plan's tasks out over the nodes and gathers what comes back in time.

    It tries again by itself when no node answers, and then gives up: the loop has no part in it, for clients that are
    to be tested cannot be left out as clients that are to train can.
    """

    grid: Grid
    work: ClientWork
    workers: int = 0
    timeout: float = 3600.0
    tries_more: int = 3
    wanted: int = 1  # nodes that must be there to begin
    ended: Callable[[], None] | None = None  # called when the engine is closed, by who simulates the nodes
    check: Callable[[], None] = lambda: None  # raises an error when the simulation is gone
    _heard: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        one_thread()
        self._exchange = Exchange(self.grid, pause=0.02 if self.ended else 0.25)
        self._exchange.check = self.check
        self._roster = Roster(_MANY)
        self._tested: dict[int, tuple[bytes, bool, list[float]]] = {}
        self._roster.wait(self.grid, self.wanted, _START)

    def train(self, plan: Plan) -> Replies:
        """Every client of the plan; those of a node that does not answer are missing."""
        tasks = [task for task in plan.tasks if not is_root(task.client)]
        load = {t.client: self.work.samples(t.client, plan.round) * len(t.models) for t in tasks}
        heaviest = sorted(tasks, key=lambda task: (-load[task.client], task.client))
        found = self._ask("train", plan.round, plan.models, heaviest,
                          lambda result, message: read_reply(self.work, plan.round, result, message))  # fmt: skip
        here = [self._own(plan, task) for task in plan.tasks if is_root(task.client)]
        replies = sorted([*filter(None, here), *found], key=lambda reply: reply.client)
        names = self.work.report.shapes if self.work.report else ()
        return Replies.stack(plan.round, replies, self.work.travel.size, names)

    def validate(self, plan: Plan) -> list[Scores]:
        """The clients' scores on their validation data (on the server's own data for ROOT)."""
        scores = [self._own_scores(plan, task) for task in plan.tasks if is_root(task.client)]
        tasks = [task for task in plan.tasks if not is_root(task.client)]
        for client, samples, found in self._ask(
            "validate", plan.round, plan.models, tasks, self._read_scores
        ):
            values, losses, *_ = zip(*found, strict=True) if found else ((), ())
            scores.append(Scores(client, plan.round, tuple(values), samples, tuple(losses)))
        return sorted(scores, key=lambda score: score.client)

    def evaluate(self, round: int, models: Models, rows: Rows, clients: Clients | None = None) -> Evaluation:
        """Only clients whose model (or data) changed are tested again."""
        tested = [np.ascontiguousarray(model).tobytes() for model in models]
        drifted = self.work.later is not None and round >= self.work.drift_round
        chosen = range(len(rows)) if clients is None else clients.tolist()
        stale = [
            Task(client, (int(rows[client]),)) for client in chosen
            if self._tested.get(client, (b"", False, []))[:2] != (tested[rows[client]], drifted)
        ]  # fmt: skip
        for client, _, found in self._ask("test", round, models, stale, self._read_scores):
            if len(found) == 1:
                self._tested[client] = (tested[rows[client]], drifted, found[0])
        nothing = (b"", False, [math.nan] * self.work.columns)
        known = np.array([self._tested.get(client, nothing)[2] for client in range(len(rows))])
        score, loss, *others = known.T
        return Evaluation(score, loss, None, dict(zip(self.work.task.others, others, strict=True)), clients)

    def _read_scores(self, result: Any, message: Message) -> Scored:
        return read_scores(self.work, result)

    def events(self) -> list[Event]:
        """What went wrong with nodes since the last call; clients are told of by number."""
        heard, self._heard = self._heard, []
        return heard

    def describe(self) -> str:
        """What trains."""
        where = "simulation" if self.ended else "deployment"
        return f"Flower {where}, {len(self._roster.nodes)} nodes, {self.work.why}"

    def close(self) -> None:
        """End the simulation, if there is one."""
        if self.ended:
            self.ended()

    def _ask(
        self, kind: str, round: int, models: Models, tasks: list[Task], read: Callable[[Any, Message], Found]
    ) -> list[Found]:
        """Send each node its share and read what it found; nobody at all answering is tried again, then an error."""
        if not tasks:
            return []
        self._exchange.pace.turn += kind == "train"
        for _ in range(self.tries_more + 1):
            self._heard += [e for e in self._roster.refresh(self.grid) if e.kind != "joined"]
            shares = self._dealt(tasks)
            letters = [self._letter(kind, round, models, number, share) for number, share in shares.items()]
            answers, events = self._exchange.ask(letters, self.timeout, self._most(shares))
            self._heard += [_about(event, shares) for event in events]
            if answers:
                return [one for answer in answers for one in self._read(answer, shares[answer.client], read)]
            self._heard.append(Event("retry", f"no node could answer in round {round}"))
            with contextlib.suppress(EngineError):
                self._roster.wait(self.grid, 1, _PATIENCE, self._exchange.clock, self._exchange.sleep)
        failed = [event.message for event in self._heard if event.kind in ("dropout", "rejected", "late")]
        last = f"; {failed[-1]}" if failed else ""
        raise EngineError(f"round {round}: no node answered, {self.tries_more + 1} times{last}")

    def _dealt(self, tasks: list[Task]) -> dict[int, list[Task]]:
        """Each node's share, by the node's number."""
        pace, nodes = self._exchange.pace, sorted(self._roster.nodes)
        awake = [number for number in nodes if not pace.resting(number)]
        if not awake:
            pace.wake()
        numbers = (awake or nodes)[: self.workers or None]
        shares = {number: tasks[place :: len(numbers)] for place, number in enumerate(numbers)}
        return {number: share for number, share in shares.items() if share}

    def _most(self, shares: dict[int, list[Task]]) -> int:
        """The bytes that a node's answer takes at most."""
        shapes = self.work.report.shapes.values() if self.work.report else ()
        numbers = self.work.travel.size + sum(math.prod(shape) for shape in shapes)
        return _SLACK + 16 * numbers * max(map(len, shares.values()), default=0)

    def _letter(self, kind: str, round: int, models: Models, number: int, share: list[Task]) -> Letter:
        used = sorted({row for task in share for row in task.models})
        jobs = [{"client": t.client, "rows": [used.index(row) for row in t.models]} for t in share]
        node = self._roster.nodes[number]
        return Letter(number, jobs_message(node, round, kind, jobs, models[used], self.timeout + KEPT))

    def _read(self, answer: Answer, share: list[Task], read: Callable[[Any, Message], Found]) -> list[Found]:
        """What a node tells, about the clients it was asked for and no others; what cannot be read is rejected."""
        found: list[Found] = []
        clients = [task.client for task in share]
        try:
            results = results_of(answer.message, share, len(self.work.task.others))
        except MALFORMED as error:
            self._heard.append(Event("rejected", _why(answer, error), detail={"clients": clients}))
            return found
        for client, result in results.items():
            try:
                found.append(read(result, answer.message))
            except MALFORMED as error:
                self._heard.append(Event("rejected", _why(answer, error), int(client)))
        return found

    def _own(self, plan: Plan, task: Task) -> Reply | None:
        """What the server's own data says of a model."""
        candidates = plan.models[list(task.models)]
        result = self.work.train(task.client, plan.round, self.work.whole(candidates))
        if result is None:
            return None
        trained, chosen, loss = result
        samples = len(self.work.data(task.client, "train", plan.round)[1])
        shapes = self.work.report.shapes if self.work.report else {}
        blank = {name: np.zeros(shape) for name, shape in shapes.items()}  # the server tells itself nothing
        update = self.work.travel.part(trained) - candidates[chosen]
        return Reply(task.client, plan.round, update, samples, chosen, loss, report=blank)

    def _own_scores(self, plan: Plan, task: Task) -> Scores:
        work, round = self.work, plan.round
        models = work.whole(plan.models[list(task.models)])
        found = [work.score(task.client, "validation", round, model) for model in models]
        samples = len(work.data(task.client, "validation", round)[1])
        values, losses, *_ = zip(*(row.tolist() for row in found), strict=True)
        return Scores(task.client, round, values, samples, losses)


def _why(answer: Answer, error: Exception) -> str:
    return f"reply rejected: node {answer.client}: {type(error).__name__}: {error}"[:200]


def _about(event: Event, shares: dict[int, list[Task]]) -> Event:
    """An event of a node, told as one of its clients."""
    if event.client is None:
        return event
    clients = [task.client for task in shares.get(event.client, [])]
    one, message = clients[0] if len(clients) == 1 else None, f"node {event.client}: {event.message}"
    return Event(event.kind, message, one, {**event.detail, "clients": clients})
