"""A Ray cluster as the engine of a run: the local engine on every node, to the same bits as on one machine.

A node that dies in the middle of a round loses nothing but time: training depends on seed, round and client alone, so
another node does the same work again.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from flockwise.engine.client_work import ClientWork
from flockwise.engine.simulation import Simulation
from flockwise.errors import EngineError
from flockwise.machines.columns import Columns
from flockwise.machines.dealing import Deal, Guided, Shares
from flockwise.machines.kept_rows import KeptRows
from flockwise.machines.members import LOOK, Member, Members, received
from flockwise.machines.node import Answer, Held
from flockwise.machines.packing import data_digest, packed, training_digest
from flockwise.messages import Event, Plan, Replies, Scores, Task
from flockwise.types import Clients, Rows

_TRIES = 4  # nodes that a block may be lost with, before the block itself is the suspect
_PATIENCE = 120.0  # seconds to wait for a node when none is left
_MOST_BYTES = 256 << 20  # of a block's answer
Block = TypeVar("Block")
Send = Callable[[Member, Block], Any]


class RayEngine(Simulation):
    """Deals plans out to the nodes that are there; `leave` is called when the engine is closed."""

    def __init__(
        self, ray: Any, work: ClientWork, most_models: int = 0, workers: int = 0, timeout: float = 3600.0,
        leave: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        super().__init__(work, most_models)
        self._ray, self._timeout, self._leave = ray, timeout, leave
        self._kept_rows = KeptRows(work.federation.clients)
        source, objects = packed(work)
        self._data = "" if objects is not None else data_digest(work)
        self._bits = training_digest(work)
        sent = None if objects is None else ray.put(objects)  # once a node, however many actors there are
        self._members = Members(
            ray, workers, lambda actor, cores: actor.start.remote(source, sent, cores, most_models),
            self._fault, self._differs,
        )  # fmt: skip
        try:
            self._members.wait_for_all()
        except BaseException:
            self.close()
            raise

    def train(self, plan: Plan) -> Replies:
        """Longest jobs first; a node's share is a block of them."""
        columns = Columns(self._work, plan)
        load = {t.client: self._work.samples(t.client, plan.round) * len(t.models) + 1 for t in plan.tasks}
        tasks = sorted(plan.tasks, key=lambda task: (-load[task.client], task.client))
        width = 4 * (self._work.travel.size + self.own.rows.shape[1])
        deal = Guided([(load[task.client], task) for task in tasks], _MOST_BYTES // max(width, 1))

        def take(member: Member, block: list[Task], answer: Answer) -> None:
            columns.put(answer)
            if answer["kept"] is not None:
                clients = answer["clients"][answer["clients"] >= 0]
                self.own.rows[clients] = answer["kept"]
                self._kept_rows.changed(clients, member.id)

        self._carry_out(plan.round, deal, self._sender("train", plan), take)
        return columns.replies(self._origins_of)

    def validate(self, plan: Plan) -> list[Scores]:
        """Every task's models on the client's validation data (the server's own data for ROOT)."""
        scores: list[Scores] = []
        deal = Guided([(len(task.models), task) for task in plan.tasks], len(plan.tasks))

        def take(member: Member, block: list[Task], answer: Answer) -> None:
            for client, round, values, samples, losses, shares in json.loads(answer["scores"]):
                scores.append(Scores(client, round, tuple(values), samples, tuple(losses), tuple(shares)))

        self._carry_out(plan.round, deal, self._sender("validate", plan), take)
        return sorted(scores, key=lambda score: score.client)

    def test(self, round: int, clients: Clients, rows: Rows) -> None:
        """Neighbours are tested on the same node, round after round."""
        self._look()
        models = self._ray.put(self._models.rows[: int(rows.max()) + 1])

        def send(member: Member, among: range) -> Any:
            own = clients[(clients >= among.start) & (clients < among.stop)]
            order = json.dumps({"round": round, "among": [among.start, among.stop]})
            return member.actor.test.remote(order, models, self._held(member, own), own, rows[own])

        def take(member: Member, among: range, answer: Answer) -> None:
            own = clients[(clients >= among.start) & (clients < among.stop)]
            self.results.rows[own] = answer["results"]

        self._carry_out(round, Shares(self._ranges(clients)), send, take)

    def restore(self, kept: Any) -> None:
        """Clients go on with what they had kept."""
        super().restore(kept)
        self._kept_rows.changed(np.arange(len(self.own.rows)))

    def events(self) -> list[Event]:
        """Nodes that came and went since the last call."""
        heard, self._members.events = self._members.events, []
        return heard

    def describe(self) -> str:
        """What trains, and on how many cores."""
        nodes, cores = len(self._members.ready), sum(self._members.cores.values())
        return f"Ray, {nodes} node{'s' if nodes != 1 else ''} with {cores} cores, {self._work.why}"

    def close(self) -> None:
        """End what we started on the cluster, and leave it."""
        self._members.close()
        self._leave()

    def _carry_out(
        self, round: int, deal: Deal[Block], send: Send[Block], take: Callable[[Member, Block, Answer], None]
    ) -> None:
        """Until every block is done: nodes come for the next, and what a lost one had is done again."""
        under_way: dict[Any, tuple[Member, Block, float]] = {}
        lost: Counter[int] = Counter()  # times, by the block's identity: it is the same when it is given back
        while deal.left or under_way:
            self._look()
            busy = {member.id for member, _, _ in under_way.values()}
            for member in [m for m in self._members.ready.values() if m.id not in busy]:
                block = deal.take(member.id, self._members.cores)
                if block is not None:
                    under_way[send(member, block)] = (member, block, time.monotonic())
            if not under_way:
                self._members.wait(_PATIENCE, f"round {round}: ")
                continue
            done, _ = self._ray.wait(list(under_way), num_returns=1, timeout=LOOK)
            late = [
                each for each, (_, _, since) in under_way.items() if time.monotonic() - since > self._timeout
            ]
            for each in done or late[:1]:
                member, block, _ = under_way.pop(each)
                answer = received(self._ray, each) if done else {"lost": f"no answer in {self._timeout:g} s"}
                if "error" in answer:
                    raise EngineError(f"round {round}: {member.name}: {answer['error']}")
                if "lost" not in answer:
                    take(member, block, answer)
                    continue
                lost[id(block)] += 1
                self._lose(member, round, answer["lost"], lost[id(block)])
                deal.give_back(block)

    def _lose(self, member: Member, round: int, why: str, times: int) -> None:
        self._kept_rows.forget(member.id)
        self._members.drop(member, f"{why}; what it had to do in round {round} is done again")
        if times >= _TRIES:
            raise EngineError(
                f"round {round}: the same work lost {times} nodes; the last was {member.name}: {why}"
            )

    def _look(self) -> None:
        before = set(self._members.ready)
        self._members.look()
        for gone in before - set(self._members.ready):
            self._kept_rows.forget(gone)

    def _sender(self, kind: str, plan: Plan) -> Send[list[Task]]:
        """How a block of a plan goes to a node; the models are in the cluster, and come to each node once."""
        models = self._ray.put(np.ascontiguousarray(plan.models))

        def send(member: Member, block: Sequence[Task]) -> Any:
            tasks = [(task.client, task.models) for task in block]
            order = json.dumps({"round": plan.round, "tasks": tasks, "shares": plan.shares})
            clients = np.array([task.client for task in block if task.client >= 0], dtype=np.int64)
            return getattr(member.actor, kind).remote(order, models, self._held(member, clients))

        return send

    def _held(self, member: Member, clients: Clients) -> Held | None:
        """What this node does not yet know of what these clients keep."""
        if self._work.kept.nothing:
            return None
        news = self._kept_rows.news(member.id, clients)
        return news, self.own.rows[news]

    def _ranges(self, clients: Clients) -> dict[str, range]:
        """Every client to one node, by cores; nodes that have nobody to test are left out."""
        cores = self._members.cores
        ends = (
            np.cumsum([cores[id] for id in sorted(cores)]) * len(self.own.rows) // max(sum(cores.values()), 1)
        )
        found = {id: range(a, b) for id, a, b in zip(sorted(cores), [0, *ends], ends, strict=False)}
        found = found or {"": range(len(self.own.rows))}  # nobody is there: who comes does it all
        return {
            id: part for id, part in found.items() if ((clients >= part.start) & (clients < part.stop)).any()
        }

    def _fault(self, answer: Answer) -> str | None:
        same = answer.get("data") == self._data
        return None if same else "its data are not those of this run; put the same files there"

    def _differs(self, answer: Answer) -> str | None:
        """Whether it trains to other bits than this machine."""
        if answer["trainer"] != self._work.why:
            return f"trains by {answer['trainer']}, this machine by {self._work.why}: results differ in their last digits"
        if answer["bits"] != self._bits:
            return "its processor or libraries train to other last digits than this machine's"
        return None
