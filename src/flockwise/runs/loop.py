"""The one loop around a server, whatever the engine: ask, let clients work, tell, test, commit."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from flockwise.engine import Engine, Evaluation
from flockwise.errors import EngineError
from flockwise.messages import Event, Plan, Replies, RoundRecord, bound
from flockwise.runs.hazards import Hazards
from flockwise.runs.stopwatch import Stopwatch
from flockwise.server import Server
from flockwise.store import RunWriter
from flockwise.store.client_notes import called
from flockwise.store.requests import apply_requests
from flockwise.types import Clients


@dataclass(frozen=True)
class Progress:
    """What a progress callback is told after every round."""

    round: int
    rounds: int
    facts: Mapping[str, float]
    events: tuple[Event, ...]
    seconds: float
    engine: str
    path: Path
    note: str = ""  # what a person should know of the run as a whole
    names: Mapping[int, str] = field(default_factory=dict)  # of clients
    score: str = "accuracy"  # the fact by which models are compared


class Unanswered(EngineError):
    """Nobody answered a training plan, as often as it was tried; `events` are what was heard instead."""

    def __init__(self, message: str, events: list[Event]) -> None:
        super().__init__(message)
        self.events = events


Record = Callable[
    [RoundRecord, Evaluation | None, list[Event]], RoundRecord
]  # what is known beside the server


@dataclass
class Loop:
    """A run under way. `record` adds what the server does not know to a round's record."""

    server: Server
    engine: Engine
    writer: RunWriter
    record: Record
    hazards: Hazards = field(default_factory=Hazards)
    evaluate_every: int = 1  # 0: never
    telling: frozenset[str] = (
        frozenset()
    )  # kinds of events after which models are tested at once; see also round 1
    tested: Clients | None = None  # who is tested; None: everyone
    on_round: Callable[[Progress], object] | None = None
    stop: Callable[[], bool] = lambda: False
    patience: int = (
        3  # rounds in a row whose every reply may be rejected, where the engine has no number of its own
    )
    note: str = ""  # what a person should know of the run as a whole
    barren: int = 0  # rounds in a row in which no reply was let in
    _noted: object = None  # who takes part, as last written

    def run(self, rounds: int) -> str:
        """Go on to this round; "finished", or why it ended before."""
        self._note(rounds)
        try:
            why = self._rounds(rounds)
        except BaseException as error:
            self.writer.events(self.server.round, self.engine.events())  # what led to it
            if isinstance(error, KeyboardInterrupt):  # somebody's wish: the run can go on from its last round
                self.writer.about(state="stopped", error="stopped at once, in the middle of a round")
            else:
                self.writer.about(state="failed", error=f"{type(error).__name__}: {error}"[:500])
            raise
        if why == "finished" and not self._learned():
            why = self._failed(self._first_reason("no reply could be used in any round"))
        elif why == "finished":
            self._note(rounds)
            self.writer.about(state="finished", error="")
        return why

    def _note(self, rounds: int) -> None:
        """What the method will not come to do in this run, or has not: nobody should have to guess."""
        self.note = "; ".join(self.server.method.remarks(self.server.state, rounds))
        self.writer.about(note=self.note)

    def _rounds(self, rounds: int) -> str:
        while self.server.round < rounds:
            started, watch = time.perf_counter(), Stopwatch()
            asked, settle = apply_requests(self.writer.path, self.server)
            self._note_clients()
            try:
                record, events = one_round(self.server, self.engine, self.hazards, watch)
            except EngineError as error:
                if self.engine.retries is None:
                    raise
                heard = error.events if isinstance(error, Unanswered) else []
                # Before the first round there is no checkpoint to hold what was asked: it waits for the next start.
                asked = asked if self.server.round else []
                return self._stopped([*asked, *heard, *self.engine.events()], str(error))
            last = self.server.round >= rounds
            tested = self._tested(last, record.events)
            full = self.record(record, tested, [*asked, *events, *self.engine.events()])
            self._note_clients()  # no number that a state knows may be given to another client after a crash
            seconds = time.perf_counter() - started
            stopping = not last and self.stop()
            self.writer.commit(
                full.round, seconds, full.facts, full.arrays, full.events, self.saved,
                last=last or stopping or bool(asked), times=watch.seconds,
            )  # fmt: skip
            settle()
            self._told(full, rounds, seconds)
            if stopping:
                self.writer.about(state="stopped", error="")
                return "stopped"
            if self._hopeless(full) and not last:
                why = f"round {full.round}: no reply could be used, {self.barren} rounds in a row"
                return self._given_up(why + _quoted(full.events, self.writer.names))
        return "finished"

    def _hopeless(self, full: RoundRecord) -> bool:
        """Whether rounds without a usable reply have become too many in a row."""
        retries = self.engine.retries
        if full.facts.get("participants"):
            self.barren = 0
        elif retries is not None or full.facts.get("rejected"):  # a simulated loss is no reason to give up
            self.barren += 1
        return self.barren > (self.patience if retries is None else retries)

    def _given_up(self, why: str) -> str:
        """Nobody's replies can be used: clients that are real may mend that, a simulation will not."""
        return self._stopped([], why) if self.engine.retries is not None else self._failed(why)

    def _tested(self, last: bool, events: Sequence[Event]) -> Evaluation | None:
        every, round = self.evaluate_every, self.server.round
        if not every:
            return None
        told = self.telling and (round == 1 or any(event.kind in self.telling for event in events))
        if round % every and not last and not told:
            return None
        return self.test()

    def test(self) -> Evaluation:
        """How clients do with the models that they have now."""
        models, rows = self.server.assignment()
        if self.tested is None:
            return self.engine.evaluate(self.server.round, models, rows)
        return self.engine.evaluate(self.server.round, models, rows, self.tested)

    def saved(self) -> dict[str, np.ndarray]:
        """All that is needed to go on: the server's state, and what clients keep to themselves."""
        return {
            **self.server.state.to_arrays(),
            **{f"clients/{name}": array for name, array in self.engine.kept().items()},
        }

    def _note_clients(self) -> None:
        """Who takes part, where only the engine knows."""
        rows, about = self.engine.clients(), self.engine.about()
        if rows is not None and (rows, about) != self._noted:
            self.writer.about(**about)
            self.writer.clients(rows)
            self._noted = (rows, about)

    def _told(self, full: RoundRecord, rounds: int, seconds: float) -> None:
        if self.on_round:
            describe, path, names = self.engine.describe(), self.writer.path, self.writer.names
            score = self.server.setting.scoring.name
            self.on_round(
                Progress(
                    full.round,
                    rounds,
                    full.facts,
                    full.events,
                    seconds,
                    describe,
                    path,
                    self.note,
                    names,
                    score,
                )
            )

    def _stopped(self, events: list[Event], why: str) -> str:
        """The run ends before its time; what happened since the last round is added to that round."""
        self.writer.add_events(self.server.round, [*events, Event("stopped", why)], self.saved)
        self.writer.about(state="stopped", error=why[:500])
        return why

    def _failed(self, why: str) -> str:
        self.writer.add_events(self.server.round, [Event("failed", why)], self.saved)
        self.writer.about(state="failed", error=why[:500])
        return why

    def _learned(self) -> bool:
        return self.writer.any_participant() or not self.server.round

    def _first_reason(self, why: str) -> str:
        first = self.writer.first_event("rejected")
        return f"{why}: {first}"[:500] if first else why


def one_round(
    server: Server, engine: Engine, hazards: Hazards | None = None, watch: Stopwatch | None = None
) -> tuple[RoundRecord, list[Event]]:
    """Drive the server through one round: plans to the engine, replies back past attackers and channel."""
    hazards, watch = hazards or Hazards(), watch or Stopwatch()
    plan, replies, events = _trained(server, engine, hazards, watch)
    sent = plan.bytes_sent + replies.updates.nbytes
    arrived, lost = hazards.replies(replies, server)
    with watch.of("server"):
        record = server.tell(arrived)
    while record is None:  # the server has questions before it closes the round
        with watch.of("server"):
            plan = server.ask()
        sent += plan.bytes_sent
        if plan.kind == "train":
            with watch.of("clients"):
                replies = engine.train(hazards.reached(plan))
            sent += replies.updates.nbytes
            arrived, lost_again = hazards.replies(replies, server)
            lost = [*lost, *lost_again]
            with watch.of("server"):
                record = server.tell(arrived)
        else:
            with watch.of("clients"):
                scores = engine.validate(plan)
            answers = bound(hazards.scores(scores, plan, server))
            with watch.of("server"):
                record = server.tell(answers)
    return replace(record, facts={**record.facts, "bytes": float(sent)}), [*events, *lost]


def _trained(
    server: Server, engine: Engine, hazards: Hazards, watch: Stopwatch
) -> tuple[Plan, Replies, list[Event]]:
    """A training plan and the replies to it; one that nobody answers is made anew, for who can be reached then."""
    events: list[Event] = []
    for attempt in itertools.count(1):
        present = engine.present()
        with watch.of("server"):
            plan = hazards.reached(server.ask(present))
        with watch.of("clients"):
            replies = engine.train(plan)
        heard = engine.events()
        events += heard
        if len(replies) or engine.retries is None:
            break
        why = _nobody(heard)
        if attempt > engine.retries:
            raise Unanswered(f"round {plan.round}: {why}, {attempt} times", events)
        events.append(Event("retry", f"{why}; try {attempt} of {engine.retries}"))
        engine.wait()
    return plan, replies, events


def _nobody(events: list[Event]) -> str:
    """Why a round has no reply: nobody is there, nobody answered, or nothing that came could be read."""
    rejected = [event for event in events if event.kind == "rejected"]
    if rejected:
        return f"{len(rejected)} answered, none of which could be used{_quoted(rejected)}"
    away = [event.message for event in events if event.kind == "away"]
    failed = [f"client {e.client}: {e.message}" for e in events if e.kind == "dropout"]
    return away[-1] if away else f"nobody answered ({failed[0]})" if failed else "nobody answered"


def _quoted(events: Sequence[Event], names: Mapping[int, str] | None = None) -> str:
    """The first rejection, to be added to a reason."""
    first = next((event for event in events if event.kind == "rejected"), None)
    if first is None:
        return ""
    who = "" if first.client is None else f"{called(first.client, (names or {}).get(first.client))}: "
    return f" ({who}{first.message})"
