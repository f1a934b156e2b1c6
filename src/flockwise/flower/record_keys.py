"""What a user's ClientApp calls things."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from flwr.app import ArrayRecord, Message

from flockwise.errors import InputError

# As in Flower's own templates and tutorials; the first one found counts.
ACCURACY = ("accuracy", "eval_accuracy", "eval_acc", "val_accuracy", "test_accuracy", "acc")
LOSS = ("loss", "eval_loss", "val_loss", "test_loss", "test_logloss", "log_loss")
TRAIN_LOSS = ("train_loss", "loss", "train_logloss")
_LEGACY_SAMPLES = "num_examples"  # what Flower calls them for clients of its older interface
_LEGACY_METRICS = ("fitres.metrics", "evaluateres.metrics")  # config records there, for they may hold text
_MOST = 1 << 62  # a count above this is as wrong, and would fit no column


@dataclass(frozen=True)
class RecordKeys:
    """Keys of records and metrics; those of Flower's own strategies by default.

    `report` is the array record with what a method asks clients to tell besides their models.
    """

    arrays: str = "arrays"
    config: str = "config"
    report: str = "report"
    samples: str = "num-examples"
    accuracy: Sequence[str] = field(default=ACCURACY)
    loss: Sequence[str] = field(default=LOSS)
    train_loss: Sequence[str] = field(default=TRAIN_LOSS)

    def trained(self, message: Message) -> ArrayRecord:
        """The arrays of an answer: under the usual key, or the only ones there are."""
        records = message.content.array_records
        if self.arrays in records:
            return records[self.arrays]
        others = [record for key, record in records.items() if key != self.report]
        if len(others) != 1:
            raise InputError(f"its answer has {len(others)} array records; one is expected")
        return others[0]

    def reported(self, message: Message) -> ArrayRecord:
        """What the client tells besides; empty if nothing."""
        found: ArrayRecord = message.content.array_records.get(self.report, ArrayRecord())
        return found

    def count(self, message: Message) -> int:
        """How many samples the answer rests on."""
        value = self.metric(message, (self.samples, _LEGACY_SAMPLES))
        if value is None or value != int(value):
            raise InputError(f"its metrics hold no whole number {self.samples!r}")
        return min(max(int(value), -_MOST), _MOST)

    def metric(self, message: Message, names: Sequence[str]) -> float | None:
        """The first of these metrics that the answer has."""
        for name in names:
            for record in _measured(message):
                value = record.get(name)
                if _is_number(value) and abs(value) < 1e308:
                    return float(value)
        return None

    def unknown(self, message: Message, names: Sequence[str]) -> set[str]:
        """Metrics of an answer that go nowhere: under none of these names, or no single numbers."""
        known = {*names, self.samples, _LEGACY_SAMPLES}
        return {
            name for record in _measured(message) for name, value in record.items()
            if name not in known or not _is_number(value)
        }  # fmt: skip


def _measured(message: Message) -> list[Mapping[str, Any]]:
    content = message.content
    legacy = [record for key, record in content.config_records.items() if key in _LEGACY_METRICS]
    return [*content.metric_records.values(), *legacy]


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


Terms = RecordKeys  # its name before
