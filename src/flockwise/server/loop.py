"""One server loop for every method.

    while server.round < rounds:
        plan = server.ask()             # who should train, or validate, which models
        record = server.tell(replies)   # None while the round needs validation answers first

Nothing here trains, waits, reads, writes or prints, so a simulator, Flower, a test and a user's own loop
drive the same object, and the state after a round is all there is to save.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from flockwise.errors import InputError
from flockwise.messages import Event, Plan, Reply, RoundRecord, Task, is_root, root_for
from flockwise.pieces.aggregation import Roots
from flockwise.pieces.batch import Batch, stack
from flockwise.pieces.grouping import Found
from flockwise.pieces.metadata import describe_groups
from flockwise.pieces.relabel import renumbered, split_inside
from flockwise.pieces.state import CONFIRMED, FREE, QUARANTINED, UNPLACED, State, first_state, flocks_in
from flockwise.server.gate import Gate
from flockwise.server.method import Method
from flockwise.server.questions import Question, questions
from flockwise.types import Labels, Models, Vector

_FURTHEST = float(np.finfo(np.float32).max)


class Server:
    """Finds flocks among clients, trains a model for each, keeps the hostile out."""

    def __init__(
        self, method: Method, initial: Models, clients: int, gate: Gate | None = None,
        weight_cap: float | None = 5.0, state: State | None = None,
    ) -> None:  # fmt: skip
        if len(initial) < method.models:
            raise InputError(f"initial = {len(initial)} models: {method.name} starts from {method.models}")
        self.method = method
        self.gate = gate or Gate(initial.shape[1])
        self.weight_cap = weight_cap
        self.state = state or first_state(initial[: method.models], clients)
        self._plan: Plan | None = None
        self._questions: list[Question] = []
        self._record: RoundRecord | None = None
        self._asked: set[str] = set()

    @property
    def round(self) -> int:
        """Rounds closed so far."""
        return self.state.round

    def assignment(self) -> tuple[Models, Labels]:
        """The distinct models in use, and which of them each client has now."""
        return self.method.attribution.assign(self.state)

    def ask(self) -> Plan:
        """What clients should do next; asking again before telling gives the same plan."""
        if self._plan is None:
            self._plan = self._questions[0].plan(self.round + 1) if self._questions else self._training_plan()
        return self._plan

    def tell(self, replies: Iterable[object]) -> RoundRecord | None:
        """Take the answers to the last plan; the record of the round, once it is closed."""
        plan = self.ask()
        verdict = self.gate.admit(plan, replies)
        rejected = [Event("rejected", f"reply rejected: {why}", client) for client, why in verdict.rejected]
        self._plan = None
        if plan.kind == "train":
            self._train(plan, list(verdict.admitted), rejected)
        else:
            self.state, events = self._questions.pop(0).answer(self.state, verdict.admitted)
            self._add(events=[*rejected, *events])
        if not self._questions:
            self._questions = list(questions(self.method, self.state, self._asked))
            self._asked |= {question.name for question in self._questions}
        return None if self._questions else self._close()

    def release(self, client: int) -> None:
        """Let a quarantined client take part again; its next update or validation places it."""
        self._set_apart([client], FREE)

    def confirm(self, client: int) -> None:
        """Keep a quarantined client out for good."""
        self._set_apart([client], CONFIRMED)

    def quarantine(self, client: int) -> None:
        """Set a client apart by hand."""
        self._set_apart([client], QUARANTINED)

    def _set_apart(self, clients: list[int], value: int) -> None:
        if any(not 0 <= client < self.state.clients for client in clients):
            raise InputError(f"client = {clients}: must lie between 0 and {self.state.clients - 1}")
        apart, labels = self.state.apart.copy(), self.state.labels.copy()
        apart[clients] = value
        labels[clients] = (
            UNPLACED if self.state.flocks > 1 or value != FREE else self.state.labels.max(initial=0)
        )
        self.state = replace(self.state, apart=apart, labels=labels)

    def _training_plan(self) -> Plan:
        models, rows = self.assignment()
        everyone = self.method.when.everyone(self.state, self.round + 1)
        clients = self.method.sampler.draw(self.state, everyone)
        offers = self.method.attribution.offers(self.state, clients, rows)
        if everyone and self.state.flocks > 1:  # updates can only be compared if they start from one model
            models, offers = self._joint()[None], [(0,) for _ in clients]
        tasks = [Task(int(client), offer) for client, offer in zip(clients, offers, strict=True)]
        if self.method.needs_root:  # the server's own update of each model that is sent
            tasks += [
                Task(root_for(row), (row,)) for row in sorted({row for offer in offers for row in offer})
            ]
        return Plan(self.round + 1, "train", models, tuple(tasks))

    def _joint(self) -> Vector:
        """The mean of all clients' models."""
        models, rows = self.assignment()
        free = rows[self.state.free]
        shares = np.bincount(free, minlength=len(models)) / len(free)
        return (shares @ models.astype(np.float64)).astype(np.float32)

    def _train(self, plan: Plan, replies: list[Reply], events: list[Event]) -> None:
        asked = {task.client: task.models for task in plan.tasks}
        roots = {asked[reply.client][0]: reply.update for reply in replies if is_root(reply.client)}
        replies = [reply for reply in replies if not is_root(reply.client)]
        batch = stack(plan, replies, self.weight_cap)
        trained = np.zeros(self.state.clients, dtype=bool)
        trained[batch.clients] = True
        losses = np.full(self.state.clients, np.nan)
        losses[batch.clients] = batch.losses
        self._record = RoundRecord(plan.round, {}, {"trained": trained, "loss": losses}, tuple(events))
        self._asked = set()
        rootless = self.method.needs_root and not set(batch.rows.tolist()) <= roots.keys()
        if not len(batch.clients) or rootless:
            missing = "nobody's reply" if not len(batch.clients) else "no update on the server's own data"
            self._add(events=[Event("skipped", f"{missing} could be used; models are unchanged")])
            return
        state = self.method.evidence.remember(self.state, batch)
        picked = self.method.attribution.relabel(
            state, batch, [asked[client] for client in batch.clients.tolist()]
        )
        placed = np.flatnonzero((state.labels == UNPLACED) & (picked != UNPLACED) & trained)
        self._add(events=[Event("placed", f"placed in flock {picked[client]}", int(client),
                                {"flock": int(picked[client])}) for client in placed])  # fmt: skip
        state = replace(state, labels=picked)
        if self.method.recovery:
            state = self.method.recovery.remember(
                state, self.round
            )  # the models as they were before this round
        self.state = self._learn(state, batch, roots)

    def _learn(self, state: State, batch: Batch, roots: Roots) -> State:
        """Find flocks if it is time, and aggregate; in the order the method wants."""
        method = self.method
        state = state.remember(**{"batch/clients": batch.clients})
        if method.grouping is None or not method.when.look(state, batch.round):
            return replace(
                state, models=method.aggregation.step(state, state.models, state.labels, batch, roots)
            )
        if method.start == "own":
            if method.when.everyone(state, batch.round) and state.flocks > 1:
                state = replace(state, models=np.repeat(batch.sent[:1], len(state.models), axis=0))
            state = self._find_flocks(state, batch)
            return replace(
                state, models=method.aggregation.step(state, state.models, state.labels, batch, roots)
            )
        if not (method.skip_census and method.when.everyone(state, batch.round)):
            state = replace(
                state, models=method.aggregation.step(state, state.models, state.labels, batch, roots)
            )
        return self._find_flocks(state, batch)

    def _find_flocks(self, state: State, batch: Batch) -> State:
        known = self.method.evidence.known(state, batch)
        state = state.remember(**{"looked/round": np.array([batch.round])})
        if self.method.scope == "within":
            for flock in flocks_in(state.labels[known.clients]):
                members = np.flatnonzero((state.labels[known.clients] == flock) & state.free[known.clients])
                found = self._noted(state, self.method.grouping.find(known.of(members), batch.round))  # type: ignore[union-attr]
                if found.flocks > 1:
                    state = self._split(state, int(flock), found)
            return state
        found = self._noted(state, self.method.grouping.find(known, batch.round))  # type: ignore[union-attr]
        act, state = self.method.when.act(state, found)
        if not act:
            return state
        remembered = {name: array for name, array in found.arrays.items() if name.startswith("groups/")}
        state = state.remember(**{"found/round": np.array([batch.round]), **remembered})
        before = state.labels
        after = renumbered(state, found)
        if remembered:  # boundaries place newcomers by the order of the groups
            after = np.full(state.clients, UNPLACED)
            after[found.clients] = found.labels
        if found.flocks <= 1:  # nothing to tell apart: nobody is left without a flock
            after = np.where(state.free, after.max(initial=0), UNPLACED)
        if not np.array_equal(after, before):
            sizes = np.bincount(found.labels).tolist()
            edges = {}
            if remembered:
                feature, bounds = remembered["groups/feature"], remembered["groups/edges"]
                edges = {"boundaries": describe_groups(int(feature[0]), bounds)}
            self._add(events=[Event("flocks", f"{len(sizes)} flocks among {len(found.clients)} clients",
                                    detail={"sizes": sizes, **edges, **found.facts})])  # fmt: skip
        elif found.flocks <= 1 and state.flocks == 1 and not self.method.when.look(state, batch.round + 1):
            self._add(events=[Event("alike", _alike(len(found.clients)),
                                    detail=dict(found.facts))])  # fmt: skip
        return replace(state, labels=after, models=self.method.aggregation.begin(state, after))

    def _split(self, state: State, flock: int, found: Found) -> State:
        after = split_inside(state, flock, found, keep_stragglers=self.method.keep_largest)
        gone = found.clients[after[found.clients] != flock]
        detail = {"flock": flock, "clients": gone.tolist(), **found.facts}
        if self.method.keep_largest:
            apart = state.apart.copy()
            apart[gone] = QUARANTINED
            self._add(
                events=[
                    Event("quarantine", f"{len(gone)} clients set apart from flock {flock}", detail=detail)
                ]
            )
            return replace(state, labels=np.where(apart == FREE, state.labels, UNPLACED), apart=apart)
        self._add(events=[Event("split", f"flock {flock} split: {len(gone)} clients leave", detail=detail)])
        state = state.remember(**{"found/round": np.array([self.round + 1])})
        return replace(state, labels=after, models=self.method.aggregation.begin(state, after))

    def _noted(self, state: State, found: Found) -> Found:
        """Put what was found on the record of the round."""
        arrays = {name: array for name, array in found.arrays.items() if not name.startswith("groups/")}
        if found.square is not None and self.method.scope == "all":
            everyone = np.full((state.clients, state.clients), np.nan, dtype=np.float32)
            # A liar may be further off than float32 can say.
            everyone[np.ix_(found.clients, found.clients)] = np.clip(found.square, -_FURTHEST, _FURTHEST)
            arrays["similarity"] = everyone
        facts = dict(found.facts)
        seen = self._record.facts if self._record else {}
        if (
            "alpha_cross" in facts and "alpha_cross" in seen
        ):  # several flocks were tested: report the closest call
            facts = facts if facts["alpha_cross"] < seen["alpha_cross"] else {}
        self._add(facts=facts, arrays=arrays)
        return found

    def _add(self, facts: dict[str, float] | None = None, arrays: dict[str, np.ndarray] | None = None,
             events: list[Event] | None = None) -> None:  # fmt: skip
        record = self._record
        assert record is not None
        self._record = RoundRecord(
            record.round, {**record.facts, **(facts or {})}, {**record.arrays, **(arrays or {})},
            (*record.events, *(events or [])),
        )  # fmt: skip

    def _close(self) -> RoundRecord:
        self.state = replace(self.state, round=self.round + 1)
        facts = {"flocks": float(self.state.flocks), "apart": float(np.sum(self.state.apart != FREE)),
                 "participants": float(self._record.arrays["trained"].sum())}  # type: ignore[union-attr] # fmt: skip
        self._add(facts=facts, arrays={"flock": self.state.labels, "apart": self.state.apart})
        record, self._record = self._record, None
        assert record is not None
        return record


def _alike(compared: int) -> str:
    if not compared:
        return "nothing is known that tells clients apart: one flock"
    return f"{compared} clients look alike: one flock"
