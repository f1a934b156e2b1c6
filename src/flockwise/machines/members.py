"""The nodes of the cluster that take part: they come, make themselves ready, and go."""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flockwise.errors import EngineError
from flockwise.machines.node import Answer, Node
from flockwise.messages import Event

LOOK = 1.0  # seconds between two looks at who is there
_TRIES = 3  # times that a node is begun anew whose process died
_READY = 300.0  # seconds that the first node has to make itself ready


@dataclass
class Member:
    """A node with our actor on it."""

    id: str
    name: str
    cores: int
    actor: Any
    starting: Any = None  # its first answer, until it is there


class Members:
    """`begin` sends an actor what it needs; `fault` says why a node cannot be used, `differs` what is odd about it."""

    def __init__(
        self, ray: Any, workers: int, begin: Callable[[Any, int], Any],
        fault: Callable[[Answer], str | None], differs: Callable[[Answer], str | None],
    ) -> None:  # fmt: skip
        self._ray, self._workers, self._begin = ray, workers, begin
        self._fault, self._differs = fault, differs
        self.ready: dict[str, Member] = {}
        self.events: list[Event] = []
        self._starting: dict[str, Member] = {}
        self._refused: dict[str, str] = {}
        self._begun: Counter[str] = Counter()
        self._looked = -LOOK

    @property
    def cores(self) -> Mapping[str, int]:
        """Of each node that is ready."""
        return {id: member.cores for id, member in self.ready.items()}

    def look(self) -> None:
        """See who came, who became ready and who is gone; not more often than needed."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        alive = {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"]}
        for member in [*self.ready.values(), *self._starting.values()]:
            if member.id not in alive:
                self.drop(member, "left the cluster")
        for id, node in alive.items():
            if id not in self.ready and id not in self._starting and id not in self._refused:
                self._welcome(id, node)
        self._settle(0)

    def wait_for_all(self) -> None:
        """At the beginning: until every node is ready or has said why not."""
        self.look()
        end = time.monotonic() + _READY
        while self._starting and time.monotonic() < end:
            self._settle(LOOK)
        self.wait(0.0, "")

    def wait(self, seconds: float, when: str) -> None:
        """Until one node is ready; an error that says why there is none."""
        end = time.monotonic() + seconds
        while not self.ready:
            self.look()
            if not self.ready and time.monotonic() >= end:
                raise EngineError(f"{when}no node of the Ray cluster can do the work: {self._why()}")
            self._settle(LOOK) if self._starting else time.sleep(min(seconds, LOOK))

    def drop(self, member: Member, why: str) -> None:
        """Do without a node; it may come again."""
        for members in (self.ready, self._starting):
            if members.get(member.id) is member:  # or it is gone already, and may be here anew
                del members[member.id]
                self._ray.kill(member.actor)
                self.events.append(Event("left", f"{member.name}: {why}"))

    def close(self) -> None:
        """End our actors."""
        for member in [*self.ready.values(), *self._starting.values()]:
            self._ray.kill(member.actor)
        self.ready, self._starting = {}, {}

    def _welcome(self, id: str, node: Mapping[str, Any]) -> None:
        cores = int(node["Resources"].get("CPU", 0))
        cores = min(cores, self._workers) if self._workers else cores
        if cores < 1:  # a head node that only manages
            return
        if self._begun[id] >= _TRIES:
            self._refused[id] = f"{_name(id, node)}: its processes died {_TRIES} times"
            return
        self._begun[id] += 1
        there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(id, soft=False)
        actor = self._ray.remote(Node).options(num_cpus=cores, scheduling_strategy=there).remote()
        self._starting[id] = Member(id, _name(id, node), cores, actor, self._begin(actor, cores))

    def _settle(self, seconds: float) -> None:
        """Those who are ready now take part."""
        if not self._starting:
            return
        by_answer = {member.starting: member for member in self._starting.values()}
        done, _ = self._ray.wait(list(by_answer), num_returns=1, timeout=seconds)
        for answer in done:
            self._judge(by_answer[answer])
        if done:
            self._settle(0)

    def _judge(self, member: Member) -> None:
        answer = received(self._ray, member.starting)
        why = answer.get("error") or self._fault(answer)
        if "lost" in answer:
            self.drop(member, answer["lost"])
        elif why:
            self._refused[member.id] = f"{member.name}: {why}"
            self.drop(member, f"is not used: {why}")
        else:
            self.ready[member.id] = self._starting.pop(member.id)
            odd = self._differs(answer)
            cores = f"{member.cores} core{'s' if member.cores > 1 else ''}"
            self.events.append(Event("joined", f"{member.name}: {cores}"))
            self.events += [Event("trainer", f"{member.name}: {odd}")] if odd else []

    def _why(self) -> str:
        if self._starting:
            names = ", ".join(member.name for member in self._starting.values())
            return f"{names} did not become ready; are all its cores in use? (ray status; engine.workers asks for fewer)"
        if self._refused:
            return next(iter(self._refused.values()))
        gone = [event.message for event in self.events if event.kind == "left"]
        return gone[-1] if gone else "there is none with a core (ray status)"


def received(ray: Any, answer: Any) -> Answer:
    """What a node answered; `lost` and why, if it is gone."""
    try:
        found: Answer = ray.get(answer)
        return found
    except ray.exceptions.RayTaskError as error:  # what was sent could not be read there
        return {"error": " ".join(str(error.cause).split())[:300]}
    except ray.exceptions.RayError as error:
        return {"lost": f"died ({type(error).__name__})"}


def _name(id: str, node: Mapping[str, Any]) -> str:
    return f"node {node['NodeManagerAddress']} ({id[:6]})"
