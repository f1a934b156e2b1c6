"""The engine over a user's own ClientApp, by nothing but Flower's train and evaluate messages."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from logging import WARNING
from typing import Any

import numpy as np

from flockwise.engine import Engine, Evaluation
from flockwise.errors import EngineError, InputError
from flockwise.flower.exchange import Answer, Exchange
from flockwise.flower.internals import log
from flockwise.flower.letters import Letter
from flockwise.flower.records import as_score
from flockwise.flower.user_messages import LEGACY, MALFORMED, UserMessages, round_of
from flockwise.flower.wrappers import MASKED, asks_for_secagg
from flockwise.messages import Event, Plan, Replies, Scores, Task
from flockwise.terminal import printable
from flockwise.types import Clients, Mask, Models, Rows

IDENTITIES = "flower_identities"  # under which a run keeps who is who
_AWAY = "none of this run's clients is online (a node is known by its key)"
_PATIENCE = 60.0  # seconds to wait for anybody to come online before a retry


@dataclass
class UserApps(Engine):
    """Trains and scores by messages to the nodes; clients come and go."""

    exchange: Exchange
    messages: UserMessages
    retries: int | None = 3
    samples: dict[int, int] = field(default_factory=dict)  # what each client last trained on
    _heard: list[Event] = field(default_factory=list)
    _remarked: set[str] = field(default_factory=set)  # what is told only once

    def __post_init__(self) -> None:
        self.roster = self.messages.roster

    def begin(self, count: int, seconds: float) -> None:
        """Wait until so many clients are online."""
        self._heard += self.roster.wait(self.exchange.grid, count, seconds)

    def present(self) -> Mask:
        """Look who is online now."""
        changes = self.roster.refresh(self.exchange.grid)
        if self.exchange.insists:
            changes += self._returned()
        for event in changes:
            if event.kind == "refused":  # told at once: the round may never close
                log(WARNING, "flockwise: %s", printable(event.message))
        self._heard += changes if self.roster.nodes else [*changes, Event("away", _AWAY)]
        pace = self.exchange.pace
        pace.turn += 1
        for event in changes:
            if event.kind == "returned" and event.client is not None:
                pace.forget(event.client)
        awake = [client for client in self.roster.nodes if not pace.resting(client)]
        if not awake:
            pace.wake()
        mask = np.zeros(self.roster.places, dtype=bool)
        mask[awake or list(self.roster.nodes)] = True
        return mask

    def _returned(self) -> list[Event]:
        """Wait for those who are away, where everybody is waited for; who does not come back is waited for seldom."""
        exchange, roster = self.exchange, self.roster
        end, heard = exchange.clock() + self.messages.timeout, list[Event]()
        while away := [
            c for c in range(len(roster.members)) if c not in roster.nodes and not exchange.pace.resting(c)
        ]:
            if exchange.clock() >= end:
                return [*heard, *map(exchange.pace.missed, away)]
            exchange.sleep(1.0)
            heard += roster.refresh(exchange.grid)
        return heard

    def wait(self) -> None:
        """Until anybody is online, but not for ever."""
        log(WARNING, "flockwise: no answer that could be used; the round is tried again")
        clock, sleep = self.exchange.clock, self.exchange.sleep
        try:
            self._heard += self.roster.wait(self.exchange.grid, 1, _PATIENCE, clock, sleep)
        except EngineError as nobody:
            log(WARNING, "flockwise: %s", nobody)

    def events(self) -> list[Event]:
        """What happened since the last call."""
        heard, self._heard = self._heard, []
        return heard

    def clients(self) -> list[dict[str, Any]]:
        """Who has a place, as registered."""
        return [
            {
                "client": client, "name": member.name or member.identity[:20], "truth": None, "attacker": 0,
                "train": self.samples.get(client, 0), "validation": 0, "test": 0, "address": member.location,
                "hour": None, "user": member.user,
            }
            for client, member in enumerate(self.roster.members)
        ]  # fmt: skip

    def about(self) -> Mapping[str, str]:
        """Which key has which number."""
        return {IDENTITIES: self.roster.to_json()}

    def train(self, plan: Plan) -> Replies:
        """One train message to each client; where it is offered several models, evaluate messages choose first."""
        several = [task for task in plan.tasks if len(task.models) > 1]
        chosen = self._choose(replace(plan, tasks=tuple(several))) if several else {}
        replies = []
        for answer in self._asked(lambda: self.messages.trainings(plan, chosen)):
            try:
                reply = self.messages.reply(plan, answer, chosen.get(answer.client, 0))
            except MALFORMED as error:
                self._heard.append(Event("rejected", f"reply rejected: {str(error)[:200]}", answer.client))
            else:
                replies.append(reply)
                self.samples[reply.client] = reply.samples
        report, dimension = self.messages.report, self.messages.layout.size
        return Replies.stack(plan.round, replies, dimension, report.shapes if report else ())

    def validate(self, plan: Plan) -> list[Scores]:
        """An evaluate message for each client and model; who does not answer all of them is left out."""
        heard: dict[int, dict[int, Answer]] = {}
        for answer in self._asked(lambda: self.messages.evaluations(plan)):
            heard.setdefault(answer.client, {})[answer.number] = answer
        scores = []
        for task in plan.tasks:
            answers = heard.get(task.client, {})
            if task.models and len(answers) == len(task.models):
                found = [self.messages.score(answers[number]) for number in range(len(task.models))]
                accuracies, losses = zip(*found, strict=True)
                scores.append(Scores(task.client, round_of(answers[0], plan.round), accuracies, 0, losses))
        return scores

    def evaluate(self, round: int, models: Models, rows: Rows, clients: Clients | None = None) -> Evaluation:
        """How each client that is online does with its own model."""
        online = sorted(self.roster.nodes)
        plan = Plan(round, "validate", models, tuple(Task(client, (int(rows[client]),)) for client in online))
        found = Evaluation(np.full(len(rows), np.nan), np.full(len(rows), np.nan))
        for answer in self._asked(lambda: self.messages.evaluations(plan)):
            try:
                accuracy, found.loss[answer.client] = self.messages.score(answer)
                found.score[answer.client] = as_score(accuracy)
            except InputError as error:
                self._heard.append(Event("rejected", f"test result rejected: {error}", answer.client))
        return found

    def describe(self) -> str:
        """One line for the user."""
        return f"Flower, {len(self.roster.nodes)} of {self.roster.places} clients online"

    def _choose(self, plan: Plan) -> dict[int, int]:
        """Which of its models each client has the lowest loss with; the first where it cannot say."""
        chosen: dict[int, int] = {}
        for score in self.validate(plan):
            losses = np.array(score.losses, dtype=np.float64)
            if np.isnan(losses).all():
                losses = -np.array(score.values)
            if not np.isnan(losses).all():
                chosen[score.client] = int(np.nanargmin(losses))
        silent = [task.client for task in plan.tasks if task.client not in chosen]
        if silent:
            message = f"{len(silent)} clients did not compare models; they train the first"
            self._heard.append(Event("unchosen", message, detail={"clients": silent}))
        return chosen

    def _asked(self, letters: Callable[[], Iterable[Letter]]) -> list[Answer]:
        """Answers to these letters; clients of Flower's older interface are written to once more, in its words."""
        answers, events = self._exchanged(letters())
        older = {e.client for e in events if _is_legacy(e) and e.client is not None} - self.messages.legacy
        if older:
            self.messages.legacy.update(older)
            events = [event for event in events if not (_is_legacy(event) and event.client in older)]
            more, heard = self._exchanged(letter for letter in letters() if letter.client in older)
            answers = sorted([*answers, *more], key=lambda answer: (answer.client, answer.number))
            events += [
                Event("legacy", "speaks Flower's older interface (NumPyClient)", c) for c in sorted(older)
            ]
            events += heard
        self._heard += [_explained(event) for event in events]
        for word, message in self.messages.remarks(answers):
            if word not in self._remarked:
                self._remarked.add(word)
                self._heard.append(Event(word, message))
        return answers

    def _exchanged(self, letters: Iterable[Letter]) -> tuple[list[Answer], list[Event]]:
        return self.exchange.ask(list(letters), self.messages.timeout, self.messages.most)


def _explained(event: Event) -> Event:
    """What an error means, where we know better than the app."""
    if event.kind == "dropout" and asks_for_secagg(event.message):
        return replace(event, message=f"{event.message}: {MASKED}")
    return event


def _is_legacy(event: Event) -> bool:
    """Whether a client failed for want of the records of the older interface."""
    return event.kind == "dropout" and any(names[0] in event.message for names in LEGACY)
