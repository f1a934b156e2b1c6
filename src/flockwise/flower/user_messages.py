"""What is said to a user's own ClientApp, and what its answers mean."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, RecordDict

from flockwise.errors import InputError
from flockwise.flower.exchange import Answer, Letter
from flockwise.flower.record_keys import RecordKeys
from flockwise.flower.records import Layout, read_report
from flockwise.flower.roster import Roster
from flockwise.messages import Plan, Reply
from flockwise.stages.report import Report
from flockwise.types import Models

MALFORMED = (InputError, KeyError, TypeError, AttributeError)  # what reading an answer may raise


@dataclass(frozen=True)
class UserMessages:
    """Flower's train and evaluate messages, in the records that the ClientApp knows."""

    roster: Roster
    layout: Layout
    keys: RecordKeys = field(default_factory=RecordKeys)
    report: Report | None = None  # what the method asks clients to tell
    timeout: float = 3600.0
    train_config: Mapping[str, object] = field(default_factory=dict)
    evaluate_config: Mapping[str, object] = field(default_factory=dict)

    def trainings(self, plan: Plan, chosen: Mapping[int, int]) -> Iterator[Letter]:
        """A train message to each client that is online, with the model it has chosen (the first, if none)."""
        records = _Records(self.layout, plan.models)
        for task in plan.tasks:
            arrays = records[task.models[chosen.get(task.client, 0)]]
            yield from self._letter(MessageType.TRAIN, task.client, arrays, plan.round)

    def evaluations(self, plan: Plan) -> Iterator[Letter]:
        """An evaluate message for each client that is online and each of its models."""
        records = _Records(self.layout, plan.models)
        for task in plan.tasks:
            for number, row in enumerate(task.models):
                yield from self._letter(MessageType.EVALUATE, task.client, records[row], plan.round, number)

    def reply(self, plan: Plan, answer: Answer, chosen: int) -> Reply:
        """The answer to a train message; an error says why it can be none."""
        message, client = answer.message, answer.client
        trained = self.layout.vector(self.keys.trained(message))
        samples = self.keys.count(message)
        report = read_report(self.keys.reported(message), self.report) if self.report else {}
        round = round_of(answer)
        if round != plan.round:
            raise InputError(f"answers round {round}, this is round {plan.round}")
        loss = self.keys.metric(message, self.keys.train_loss)
        member = self.roster.members[client]
        with np.errstate(invalid="ignore", over="ignore"):
            update = trained - plan.models[plan.offers[client][chosen]]
        return Reply(
            client, round, update, samples, chosen, math.nan if loss is None else loss, member.location,
            answer.received / 3600 % 24, client if member.user is None else member.user, report,
        )  # fmt: skip

    def score(self, answer: Answer) -> tuple[float, float]:
        """Accuracy and loss; without an accuracy, exp(-loss), which for cross-entropy is a mean probability."""
        accuracy = self.keys.metric(answer.message, self.keys.accuracy)
        loss = self.keys.metric(answer.message, self.keys.loss)
        if accuracy is None:
            accuracy = math.nan if loss is None else math.exp(-max(loss, 0.0))
        return accuracy, math.nan if loss is None else loss

    def _letter(
        self, kind: str, client: int, arrays: ArrayRecord, round: int, number: int = 0
    ) -> Iterator[Letter]:
        node = self.roster.nodes.get(client)
        if node is not None:
            own = self.train_config if kind == MessageType.TRAIN else self.evaluate_config
            config = ConfigRecord({**own, "server-round": round})  # type: ignore[dict-item]
            content = RecordDict({self.keys.arrays: arrays, self.keys.config: config})
            # An answer after its time is worth nothing, so the SuperLink need not keep it much longer.
            message = Message(content, node, kind, group_id=str(round), ttl=self.timeout + 60)
            yield Letter(client, message, number)


class _Records(dict[int, ArrayRecord]):
    """Each model as a record, made once however many clients are sent it."""

    def __init__(self, layout: Layout, models: Models) -> None:
        super().__init__()
        self._layout, self._models = layout, models

    def __missing__(self, row: int) -> ArrayRecord:
        self[row] = self._layout.record(self._models[row])
        return self[row]


def round_of(answer: Answer, default: int = -1) -> int:
    """The round that an answer says it belongs to."""
    group = answer.message.metadata.group_id
    return int(group) if group.isdecimal() and len(group) < 10 else default
