"""The engine over a user's own ClientApp, by nothing but Flower's train and evaluate messages."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict

from flockwise.engine.base import Evaluation
from flockwise.errors import InputError
from flockwise.flower.mail import Answer, Letter, Mail
from flockwise.flower.records import Layout, as_accuracy
from flockwise.flower.roster import Roster
from flockwise.flower.terms import Terms
from flockwise.messages import Event, Plan, Reply, Scores, Task
from flockwise.types import Labels, Models


@dataclass
class UserApps:
    """Trains and scores by messages to the nodes; what goes wrong is kept in `events` until it is drained."""

    mail: Mail
    roster: Roster
    layout: Layout
    terms: Terms
    timeout: float
    train_config: Mapping[str, object]
    evaluate_config: Mapping[str, object]
    samples: dict[int, int] = field(default_factory=dict)  # what each client last trained on
    events: list[Event] = field(default_factory=list)

    def drain_events(self) -> list[Event]:
        """What happened since the last call."""
        events, self.events = self.events, []
        return events

    def train(self, plan: Plan) -> list[Reply]:
        """One train message to each client; where it is offered several models, evaluate messages choose first."""
        several = [task for task in plan.tasks if len(task.models) > 1]
        chosen = self._choose(replace(plan, tasks=tuple(several))) if several else {}
        records = _Records(self.layout, plan.models)
        letters = [
            self._letter(
                task, records[task.models[chosen.get(task.client, 0)]], plan.round, MessageType.TRAIN
            )
            for task in plan.tasks
        ]
        offered = {task.client: task.models for task in plan.tasks}
        replies = []
        for answer in self._exchange(letters):
            pick = chosen.get(answer.client, 0)
            reply = self._reply(answer, pick, plan.models[offered[answer.client][pick]])
            if reply is not None:
                replies.append(reply)
        return replies

    def validate(self, plan: Plan) -> list[Scores]:
        """An evaluate message for each client and model; a client that does not answer all of them is left out."""
        heard: dict[int, dict[int, Answer]] = {}
        for answer in self._exchange(self._evaluations(plan)):
            heard.setdefault(answer.client, {})[answer.mark] = answer
        scores = []
        for task in plan.tasks:
            answers = heard.get(task.client, {})
            if not task.models or len(answers) < len(task.models):
                continue
            marks = [self._marks(answers[place]) for place in range(len(task.models))]
            scores.append(Scores(task.client, _round(answers[0], plan.round), tuple(m[0] for m in marks), 0,
                                 tuple(m[1] for m in marks)))  # fmt: skip
        return scores

    def evaluate(self, round: int, models: Models, rows: Labels) -> Evaluation:
        """How each client that is online does with its own model."""
        online = sorted(self.roster.nodes)
        plan = Plan(round, "validate", models, tuple(Task(client, (int(rows[client]),)) for client in online))
        found = Evaluation(np.full(len(rows), np.nan), np.full(len(rows), np.nan))
        for answer in self._exchange(self._evaluations(plan)):
            try:
                accuracy, found.loss[answer.client] = self._marks(answer)
                found.accuracy[answer.client] = as_accuracy(accuracy)
            except InputError as error:
                self.events.append(Event("rejected", f"test result rejected: {error}", answer.client))
        return found

    def describe(self) -> str:
        """One line for the user."""
        return f"Flower, {len(self.roster.nodes)} of {self.roster.places} clients online"

    def close(self) -> None:
        """Nothing is held here."""

    def _choose(self, plan: Plan) -> dict[int, int]:
        """Which of its models each client has the lowest loss with; the first where it cannot say."""
        chosen: dict[int, int] = {}
        for score in self.validate(plan):
            losses = np.array(score.losses, dtype=np.float64)
            if np.isnan(losses).all():
                losses = -np.array(score.accuracies)
            if not np.isnan(losses).all():
                chosen[score.client] = int(np.nanargmin(losses))
        silent = [task.client for task in plan.tasks if task.client not in chosen]
        if silent:
            self.events.append(Event("unchosen", f"{len(silent)} clients did not compare models; they train the first",
                                     detail={"clients": silent}))  # fmt: skip
        return chosen

    def _evaluations(self, plan: Plan) -> list[Letter | None]:
        records = _Records(self.layout, plan.models)
        return [
            self._letter(task, records[row], plan.round, MessageType.EVALUATE, mark)
            for task in plan.tasks
            for mark, row in enumerate(task.models)
        ]

    def _letter(self, task: Task, arrays: ArrayRecord, round: int, kind: str, mark: int = 0) -> Letter | None:
        node = self.roster.nodes.get(task.client)
        if node is None:
            return None
        own = self.train_config if kind == MessageType.TRAIN else self.evaluate_config
        config = ConfigRecord({**own, "server-round": round})  # type: ignore[dict-item]
        content = RecordDict({self.terms.arrays: arrays, self.terms.config: config})
        # An answer that comes after its time is worth nothing, so the SuperLink need not keep it much longer.
        message = Message(content, node, kind, group_id=str(round), ttl=self.timeout + 60)
        return Letter(task.client, message, mark)

    def _exchange(self, letters: list[Letter | None]) -> list[Answer]:
        answers, events = self.mail.exchange([letter for letter in letters if letter], self.timeout)
        self.events += events
        return answers

    def _reply(self, answer: Answer, chosen: int, sent: np.ndarray) -> Reply | None:
        try:
            trained = self.layout.vector(self.terms.trained(answer.message))
            samples = self.terms.count(answer.message)
        except (InputError, KeyError, TypeError, AttributeError) as error:
            self.events.append(Event("rejected", f"reply rejected: {str(error)[:200]}", answer.client))
            return None
        self.samples[answer.client] = samples
        loss = self.terms.metric(answer.message, self.terms.train_loss)
        member = self.roster.members[answer.client]
        with np.errstate(invalid="ignore", over="ignore"):
            update = trained - sent
        return Reply(
            answer.client, _round(answer), update, samples, chosen, math.nan if loss is None else loss,
            member.location, answer.received / 3600 % 24, answer.client if member.user is None else member.user,
        )  # fmt: skip

    def _marks(self, answer: Answer) -> tuple[float, float]:
        """Accuracy and loss; without an accuracy, exp(-loss), which for cross-entropy is a mean probability."""
        accuracy = self.terms.metric(answer.message, self.terms.accuracy)
        loss = self.terms.metric(answer.message, self.terms.loss)
        if accuracy is None:
            accuracy = math.nan if loss is None else math.exp(-max(loss, 0.0))
        return accuracy, math.nan if loss is None else loss


class _Records(dict[int, ArrayRecord]):
    """Each model as a record, made once however many clients are sent it."""

    def __init__(self, layout: Layout, models: Models) -> None:
        super().__init__()
        self._layout, self._models = layout, models

    def __missing__(self, row: int) -> ArrayRecord:
        self[row] = self._layout.record(self._models[row])
        return self[row]


def _round(answer: Answer, default: int = -1) -> int:
    group = answer.message.metadata.group_id
    return int(group) if group.isdecimal() and len(group) < 10 else default
