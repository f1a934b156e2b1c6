"""Who is who: a client is a registered key (a partition in simulation), whichever node it comes back on."""

import hashlib
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from flwr.serverapp import Grid

from flockwise.errors import EngineError, InputError, RunError
from flockwise.flower.internals import Node, is_simulation, nodes_of
from flockwise.messages import Event

Identity = Literal["auto", "key", "partition"]


@dataclass(frozen=True)
class Member:
    """What is known of a client by its registration."""

    identity: str
    name: str = ""
    location: str | None = None

    @property
    def user(self) -> int | None:
        """The number in the registered name, if it ends in one: `hospital-12` is user 12."""
        digits = re.search(r"(\d{1,9})$", self.name)
        return int(digits.group(1)) if digits else None


@dataclass
class Roster:
    """The clients of a run by number, and the node each is on now.

    Numbers are given once, in order of name and identity among those who come together, and are kept with
    the run. A second node with a known identity, a node that changes its identity, and newcomers when all
    places are taken are refused; each is told once as an event.
    """

    places: int
    kind: Identity = "auto"
    members: list[Member] = field(default_factory=list)
    nodes: dict[int, int] = field(default_factory=dict)  # client -> node, online now

    def __post_init__(self) -> None:
        self._seen: dict[int, str] = {}  # node -> the identity it first showed
        self._lent: dict[str, int] = {}  # identity -> the node it is on
        self._told: set[tuple[str, int]] = set()
        if self.kind not in get_args(Identity):
            raise InputError(f"identity = {self.kind!r}: must be one of {', '.join(get_args(Identity))}")

    def refresh(self, grid: Grid) -> list[Event]:
        """Look who is online now."""
        events: list[Event] = []
        here: dict[str, tuple[int, Member]] = {}
        members = self._members(grid)
        online = {node for node, _ in members}
        for node, member in members:
            before = self._seen.setdefault(node, member.identity)
            if before != member.identity:
                self._refuse(
                    events, "changed", node, f"node {node} changed its identity; it is not heard any more"
                )
                continue
            holder = self._lent.get(member.identity)
            other = here[member.identity][0] if member.identity in here else holder
            if other is not None and other != node and other in online:
                self._refuse(events, "twin", node, f"node {node} has the identity of node {other}; refused")
                continue
            here[member.identity] = (node, member)
        known = {member.identity: client for client, member in enumerate(self.members)}
        newcomers = sorted((m for i, (_, m) in here.items() if i not in known), key=_order)
        for member in newcomers:
            if len(self.members) >= self.places:
                node = here[member.identity][0]
                self._refuse(events, "full", node, f"node {node} refused: all {self.places} places are taken")
                continue
            known[member.identity] = len(self.members)
            events.append(Event("joined", f"{_called(member)} is here", len(self.members)))
            self.members.append(member)
        self._move(here, known, events)
        return events

    def wait(
        self, grid: Grid, count: int, seconds: float, clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> list[Event]:  # fmt: skip
        """Wait until `count` clients are online; nobody gets a number before, so that numbers do not depend on who
        was first."""
        end = clock() + seconds
        while (welcome := self._welcome(grid))[0] < count:
            if clock() >= end:
                strangers = f"; {welcome[1]} nodes have keys this run does not know" if welcome[1] else ""
                raise EngineError(
                    f"only {welcome[0]} of {count} clients came within {seconds:g} s{strangers}"
                )
            sleep(min(0.5, max(end - clock(), 0.0)))
        return self.refresh(grid)

    def _welcome(self, grid: Grid) -> tuple[int, int]:
        """How many that are online now have a place, or could get one; and how many others there are."""
        here, known = {m.identity for _, m in self._members(grid)}, {m.identity for m in self.members}
        new = min(len(here - known), self.places - len(self.members))
        return len(here & known) + new, len(here - known) - new

    def to_json(self) -> str:
        """For the run's record."""
        return json.dumps([[m.identity, m.name, m.location] for m in self.members])

    def restore(self, text: str) -> None:
        """Take over the clients of a run that goes on."""
        try:
            rows = [[*row] for row in json.loads(text)]
        except (ValueError, TypeError, RecursionError) as error:
            raise RunError(
                "what the run has on record of its clients cannot be read; is it damaged?"
            ) from error
        if not all(2 <= len(row) <= 3 and all(isinstance(word, str | None) for word in row) for row in rows):
            raise RunError("what the run has on record of its clients is not names and keys; is it damaged?")
        self.members = [Member(*row) for row in rows]
        if len(self.members) > self.places:
            raise InputError(f"clients = {self.places}: this run already has {len(self.members)}")

    def _members(self, grid: Grid) -> list[tuple[int, Member]]:
        nodes = nodes_of(grid)
        if self.kind == "partition" or (self.kind == "auto" and is_simulation(grid)):
            # A simulation registers its nodes in the order of their partitions, with throw-away keys.
            nodes.sort(key=lambda node: node.registered)
            return [(n.number, Member(f"partition {i}", f"partition {i}")) for i, n in enumerate(nodes)]
        return [(node.number, _registered(node, self.kind)) for node in sorted(nodes, key=lambda n: n.number)]

    def _move(self, here: dict[str, tuple[int, Member]], known: dict[str, int], events: list[Event]) -> None:
        nodes = {known[identity]: node for identity, (node, _) in here.items() if identity in known}
        for client in sorted(nodes):
            old, new = self._lent.get(self.members[client].identity), nodes[client]
            if old is not None and old != new:
                events.append(Event("returned", f"came back as node {new}", client, {"node": str(new)}))
            elif old is not None and client not in self.nodes:
                events.append(Event("returned", "is online again", client))
            self._lent[self.members[client].identity] = new
        events += [
            Event("left", "is not online any more", client) for client in sorted(set(self.nodes) - set(nodes))
        ]
        self.nodes = nodes

    def _refuse(self, events: list[Event], why: str, node: int, message: str) -> None:
        if (why, node) not in self._told:
            self._told.add((why, node))
            events.append(Event("refused", message, detail={"reason": why, "node": str(node)}))


def _registered(node: Node, kind: Identity) -> Member:
    if not node.key and kind == "key":
        raise EngineError(f"node {node.number} has no key: start the SuperLink with --enable-supernode-auth")
    identity = "key " + hashlib.sha256(node.key).hexdigest() if node.key else f"node {node.number}"
    return Member(identity, node.name, node.location)


def _order(member: Member) -> tuple[object, ...]:
    parts = re.split(r"(\d+)", member.name or member.identity)
    return (
        not member.name,
        [(int(p), "") if p.isdecimal() and len(p) < 19 else (-1, p) for p in parts],
        member.identity,
    )


def _called(member: Member) -> str:
    return member.name or member.identity[:20]
