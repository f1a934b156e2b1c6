"""What is said to a user's own ClientApp, and what its answers mean."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, RecordDict

from flockwise.errors import InputError
from flockwise.flower.exchange import KEPT, Answer
from flockwise.flower.letters import Letter
from flockwise.flower.record_keys import RecordKeys
from flockwise.flower.records import RecordLayout, read_report
from flockwise.flower.roster import Roster
from flockwise.messages import Plan, Reply
from flockwise.stages.report import Report
from flockwise.types import Models

# What goes along with messages: the same in all rounds, or by round.
Settings = Mapping[str, object] | Callable[[int], Mapping[str, object] | None]
_SLACK = 1 << 20  # bytes of an answer besides its arrays
# What the older interface calls its records; a client says which is missing when it is spoken to in the new way.
LEGACY = (("fitins.parameters", "fitins.config"), ("evaluateins.parameters", "evaluateins.config"))
MALFORMED = (InputError, KeyError, TypeError, AttributeError)  # what reading an answer may raise


@dataclass(frozen=True)
class UserMessages:
    """Flower's train and evaluate messages, in the records that the ClientApp knows."""

    roster: Roster
    layout: RecordLayout
    keys: RecordKeys = field(default_factory=RecordKeys)
    report: Report | None = None  # what the method asks clients to tell
    timeout: float = 3600.0
    train_config: Settings = field(default_factory=dict)
    evaluate_config: Settings = field(default_factory=dict)
    legacy: set[int] = field(default_factory=set)  # clients of Flower's older interface (NumPyClient)

    @property
    def most(self) -> int:
        """The bytes that an answer takes at most."""
        told = sum(math.prod(shape) for shape in self.report.shapes.values()) if self.report else 0
        return self.layout.most_bytes + 16 * told + _SLACK

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
        trained = self.layout.vector(self._arrays(answer))
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
        if accuracy is None:  # told by `remarks`
            accuracy = math.nan if loss is None else math.exp(-max(loss, 0.0))
        return accuracy, math.nan if loss is None else loss

    def remarks(self, answers: Sequence[Answer]) -> Iterator[tuple[str, str]]:
        """What is to be told once of these answers: under which word, and how."""
        keys = self.keys
        training = bool(answers) and answers[0].message.metadata.message_type == MessageType.TRAIN
        known = keys.train_loss if training else [*keys.accuracy, *keys.loss]
        names = {name for answer in answers for name in keys.unknown(answer.message, known)}
        if names:
            listed = ", ".join(repr(name[:40]) for name in sorted(names)[:8]) + (
                ", ..." if len(names) > 8 else ""
            )
            yield (
                "metrics",
                (
                    f"{'train' if training else 'evaluate'} answers hold metrics that go nowhere: {listed}; names are given "
                    "by Flocks(keys=RecordKeys(accuracy=[...], loss=[...])), and each must be one number"
                ),
            )
        scores = [] if training else [answer.message for answer in answers]
        if any(
            keys.metric(m, keys.accuracy) is None and keys.metric(m, keys.loss) is not None for m in scores
        ):
            yield "stand-in", "clients tell no accuracy, so exp(-loss) stands in its place, on record as well"

    def _arrays(self, answer: Answer) -> Mapping[str, Array]:
        """The arrays by our names; the older interface knows only their order, and whether all went well."""
        if answer.client not in self.legacy:
            return self.keys.trained(answer.message)
        status = answer.message.content.config_records.get("fitres.status", ConfigRecord())
        if status.get("code"):
            raise InputError(f"its client says: {str(status.get('message'))[:150]}")
        found = list(self.keys.trained(answer.message).values())
        if len(found) != len(self.layout.order):
            raise InputError(f"its answer has {len(found)} arrays, not {len(self.layout.order)}")
        return dict(zip(self.layout.order, found, strict=True))

    def _letter(
        self, kind: str, client: int, arrays: ArrayRecord, round: int, number: int = 0
    ) -> Iterator[Letter]:
        node = self.roster.nodes.get(client)
        if node is not None:
            training = kind == MessageType.TRAIN
            own = self.train_config if training else self.evaluate_config
            own = (own(round) or {}) if callable(own) else own
            config = ConfigRecord({**own, "server-round": round})  # type: ignore[dict-item]
            names = self.keys.arrays, self.keys.config
            if client in self.legacy:
                names = LEGACY[0] if training else LEGACY[1]
            content = RecordDict({names[0]: arrays, names[1]: config})
            # An answer after its time is worth nothing, so the SuperLink need not keep it much longer.
            message = Message(content, node, kind, group_id=str(round), ttl=self.timeout + KEPT)
            yield Letter(client, message, number)


class _Records(dict[int, ArrayRecord]):
    """Each model as a record, made once however many clients are sent it."""

    def __init__(self, layout: RecordLayout, models: Models) -> None:
        super().__init__()
        self._layout, self._models = layout, models

    def __missing__(self, row: int) -> ArrayRecord:
        self[row] = self._layout.record(self._models[row])
        return self[row]


def round_of(answer: Answer, default: int = -1) -> int:
    """The round that an answer says it belongs to."""
    group = answer.message.metadata.group_id
    return int(group) if group.isdecimal() and len(group) < 10 else default
