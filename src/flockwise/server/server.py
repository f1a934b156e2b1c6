"""The server, driven by ask and tell.

    while server.round < rounds:
        plan = server.ask()             # who should train, or validate, which models
        record = server.tell(replies)   # None while the round needs validation answers first

Nothing here trains, waits, reads, writes or prints, so a simulator, Flower, a test and a user's own loop
drive the same object, and the state after a round is all there is to save.
"""

from dataclasses import replace

import numpy as np

from flockwise.errors import InputError
from flockwise.messages import Event, Plan, RoundRecord
from flockwise.server.gate import Answers, Gate
from flockwise.stages.method import Method
from flockwise.stages.report import Report
from flockwise.stages.sketching import width_for
from flockwise.stages.stage import Admitted, Round, Setting, Steps
from flockwise.stages.state import CONFIRMED, FREE, QUARANTINED, UNPLACED, State, first_state
from flockwise.types import Mask, Models, Rows


class Server:
    """Finds flocks among clients, trains a model for each, keeps the hostile out.

    `initial` are the first models, a row each (a single vector will do for methods that start from one). `state` goes on
    from where another server was.
    """

    def __init__(
        self, method: Method, initial: Models, clients: int, *, setting: Setting | None = None,
        gate: Gate | None = None, state: State | None = None,
    ) -> None:  # fmt: skip
        first = np.atleast_2d(np.asarray(initial, dtype=np.float32))
        if len(first) < method.models:
            raise InputError(f"initial = {len(first)} models: {method.name} starts from {method.models}")
        if not isinstance(method.report, Report | None):
            raise InputError(
                f"{method.name}: what clients tell depends on their data; say method.for_data(features, classes)"
            )
        self.method = method
        setting = setting or Setting()
        self.setting = replace(setting, sketch=width_for(setting, method.round, clients, first.shape[1]))
        self.gate = replace(gate or Gate(first.shape[1]), report=method.report)
        self.state = state or first_state(first[: method.models], clients)
        self._steps: Steps | None = None  # the round under way
        self._plan: Plan | None = None
        self._present: Mask | None = None
        self._told = False  # whether this round has heard from anybody
        self._by_hand: list[
            tuple[int, int]
        ] = []  # clients set apart or released while the round was under way

    @property
    def round(self) -> int:
        """Rounds closed so far."""
        return self.state.round

    def assignment(self) -> tuple[Models, Rows]:
        """The distinct models in use, and which of them each client has now."""
        return self.method.serve.assign(self.state, self.setting)

    def ask(self, present: Mask | None = None) -> Plan:
        """What clients should do next; asking again before telling gives the same plan.

        `present` are the clients that can be reached (all, if not given): with others, a round that has not heard from
        anybody yet is planned anew.
        """
        if self._plan is not None and not self._told and not _same(present, self._present):
            self._plan = None
        if self._plan is None:
            self._present = None if present is None else np.array(present, dtype=bool)
            begun = Round(self.state, self.setting, self._present, self.method.needs_root, before=self.state)
            self._steps = self.method.round.run(begun)
            self._plan, self._told = next(self._steps), False
        return self._plan

    def tell(self, replies: Answers) -> RoundRecord | None:
        """Take the answers to the last plan; the record of the round, once it is closed.

        Answers are pairs (client, reply), or an engine's columns. The number is what you have made sure of, by a key or a
        connection; a reply that says it comes from another client is rejected.
        """
        plan = self.ask(self._present)
        assert self._steps is not None
        verdict = self.gate.admit(plan, replies)
        rejected = tuple(
            Event("rejected", f"reply rejected: {why}", client) for client, why in verdict.rejected
        )
        try:
            self._plan, self._told = self._steps.send(Admitted(verdict.admitted, rejected)), True
        except StopIteration as done:
            return self._close(done.value)
        except BaseException:
            # The round can be tried again from the state before it, in which what was done by hand holds already.
            self._plan, self._told, self._by_hand = None, False, []
            raise
        return None

    def rehearse(self, replies: Answers) -> State:
        """The state after the round under way if these were the replies, and nobody answered questions; nothing is kept.

        Of a round that has heard from somebody already nothing is rehearsed: the state is as it was.
        """
        if self._told:
            return self.state
        copy = Server(
            self.method, self.state.models, self.state.clients, setting=self.setting, gate=self.gate, state=self.state
        )  # fmt: skip
        copy.ask(self._present)
        while copy.tell(replies) is None and copy.ask(self._present).kind == "validate":
            replies = ()
        return copy.state

    def release(self, client: int) -> None:
        """Let a quarantined client take part again; its next update or validation places it. Who is free stays so."""
        self._set_apart(client, FREE)

    def confirm(self, client: int) -> None:
        """Keep a quarantined client out for good."""
        self._set_apart(client, CONFIRMED)

    def quarantine(self, client: int) -> None:
        """Set a client apart by hand."""
        self._set_apart(client, QUARANTINED)

    def _set_apart(self, client: int, value: int) -> None:
        if not 0 <= client < self.state.clients:
            raise InputError(f"client = {client}: must lie between 0 and {self.state.clients - 1}")
        if value == FREE == self.state.apart[client]:
            return
        self.state = _apart(self.state, client, value)
        if self._plan is None:
            return
        self._by_hand.append((client, value))  # holds when this round is closed, too
        if (
            value != FREE and not self._told
        ):  # the others work on what they were asked; this one's work is not wanted
            self._plan = replace(self._plan, tasks=tuple(t for t in self._plan.tasks if t.client != client))

    def _close(self, round: Round) -> RoundRecord:
        state = replace(round.state, round=round.number)
        for client, value in self._by_hand:
            state = _apart(state, client, value)
        self.state, self._plan, self._told, self._by_hand = state, None, False, []
        trained = round.arrays["trained"]
        facts = {"flocks": float(state.flocks), "apart": float(np.sum(state.apart != FREE)),
                 "participants": float(trained.sum())}  # fmt: skip
        arrays = {"flock": state.labels, "apart": state.apart}
        round = round.noted(facts, arrays)
        return RoundRecord(state.round, round.facts, round.arrays, round.events)


def _apart(state: State, client: int, value: int) -> State:
    apart, labels = state.apart.copy(), state.labels.copy()
    apart[client] = value
    labels[client] = UNPLACED if state.flocks > 1 or value != FREE else state.labels.max(initial=0)
    return replace(state, apart=apart, labels=labels)


def _same(one: Mask | None, other: Mask | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
