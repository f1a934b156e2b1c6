"""The loop of a run in a ServerApp: ask the server, send, collect, tell, commit."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from logging import INFO, WARNING

from flwr.app import ArrayRecord, MetricRecord
from flwr.serverapp import Grid
from flwr.supercore import log

from flockwise.errors import EngineError
from flockwise.flower.logbook import Logbook
from flockwise.flower.result import largest_model
from flockwise.flower.roster import Roster
from flockwise.flower.user_apps import UserApps
from flockwise.messages import Event, RoundRecord
from flockwise.pieces.state import State
from flockwise.server import Server
from flockwise.terminal import printable

EvaluateFunction = Callable[[int, ArrayRecord], MetricRecord | None]


@dataclass
class Rounds:
    """Everything a run needs while it goes on."""

    grid: Grid
    server: Server
    renew: Callable[[State], Server]
    apps: UserApps
    roster: Roster
    book: Logbook
    present: set[int]
    retries: int
    patience: float = 60.0  # seconds to wait for anybody to come online before a retry
    barren: int = 0  # rounds in a row in which no reply was let in

    def run(self, rounds: int, evaluate_every: int, evaluate_fn: EvaluateFunction | None) -> str:
        """Go on to this round; "finished", or why it stopped before."""
        while self.server.round < rounds:
            started = time.perf_counter()
            asked, settle = self.book.requests(self.server)
            self.apps.events += asked
            try:
                record = self._one_round()
            except EngineError as error:
                log(WARNING, "flockwise: %s; everything is saved", printable(str(error)))
                self.book.stop(self.server, self.apps.drain_events(), str(error))
                return str(error)
            server = self.server
            tested, last = None, server.round >= rounds
            if evaluate_every and (server.round % evaluate_every == 0 or last):
                tested = self.apps.evaluate(server.round, *server.assignment())
            central = (
                evaluate_fn(server.round, largest_model(server, self.apps.layout)) if evaluate_fn else None
            )
            full = self.book.commit(
                record, tested, self.apps.drain_events(), server, time.perf_counter() - started, last, central
            )
            settle()
            self.barren = 0 if full.facts.get("participants") else self.barren + 1
            log(INFO, "flockwise: round %d/%d: %s", server.round, rounds, _told(full))
            for event in full.events:
                who = "" if event.client is None else f" (client {event.client})"
                log(INFO, "flockwise:   %s: %s%s", event.kind, printable(event.message), who)
            if self.barren > self.retries and not last:
                why = f"round {server.round}: no reply could be used, {self.barren} rounds in a row"
                log(WARNING, "flockwise: %s; everything is saved", why)
                self.book.stop(server, [], why)
                return why
        self.book.finish(self.roster, self.apps.samples)
        return "finished"

    def _one_round(self) -> RoundRecord:
        attempt = 0
        while True:
            self._look_around()
            plan, before = self.server.ask(), len(self.apps.events)
            replies = self.apps.train(plan)
            if replies:
                break
            attempt += 1
            why = _nobody(self.apps.events[before:], self.roster)
            if attempt > self.retries:
                raise EngineError(f"round {plan.round}: {why}, {attempt} times")
            log(
                WARNING,
                "flockwise: round %d: %s; try %d of %d",
                plan.round,
                printable(why),
                attempt,
                self.retries,
            )
            self.apps.events.append(Event("retry", f"{why}; try {attempt} of {self.retries}"))
            self.server = self.renew(self.server.state)  # others may be online now: a new plan
            self._wait_for_anybody()
        record = self.server.tell(replies)
        while record is None:  # the server has questions before it closes the round
            record = self.server.tell(self.apps.validate(self.server.ask()))
        return record

    def _look_around(self) -> None:
        changes = self.roster.refresh(self.grid)
        for event in changes:
            if event.kind == "refused":  # told at once: the round may never close
                log(WARNING, "flockwise: %s", printable(event.message))
        self.apps.events += changes
        self.present.clear()
        self.present.update(self.roster.nodes)
        self.book.clients(self.roster, self.apps.samples)

    def _wait_for_anybody(self) -> None:
        try:
            self.apps.events += self.roster.wait(self.grid, 1, self.patience)
        except EngineError as nobody:
            log(WARNING, "flockwise: %s", nobody)


def _nobody(events: list[Event], roster: Roster) -> str:
    """Why a round has no reply: nobody is there, nobody answered, or nothing that came could be read."""
    rejected = [event for event in events if event.kind == "rejected"]
    if not rejected and not roster.nodes:
        return "none of this run's clients is online (a node is known by its key)"
    if not rejected:
        return "nobody answered"
    first = rejected[0]
    return f"{len(rejected)} answered, none of which could be used (client {first.client}: {first.message})"


def _told(record: RoundRecord) -> str:
    names = ("flocks", "participants", "rejected", "train_loss", "accuracy", "accuracy_worst", "apart")
    return "  ".join(
        f"{n} {record.facts[n]:.4g}" for n in names if record.facts.get(n) == record.facts.get(n, 0.0)
    )
