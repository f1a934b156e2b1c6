"""What a user's ClientApp calls things."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from flwr.app import ArrayRecord, Message

from flockwise.errors import InputError

# As in Flower's own templates and tutorials; the first one found counts.
ACCURACY = ("accuracy", "eval_accuracy", "eval_acc", "val_accuracy", "test_accuracy", "acc")
LOSS = ("loss", "eval_loss", "val_loss", "test_loss", "test_logloss", "log_loss")
TRAIN_LOSS = ("train_loss", "loss", "train_logloss")


@dataclass(frozen=True)
class Terms:
    """Keys of records and metrics; those of Flower's own strategies by default."""

    arrays: str = "arrays"
    config: str = "config"
    samples: str = "num-examples"
    accuracy: Sequence[str] = field(default=ACCURACY)
    loss: Sequence[str] = field(default=LOSS)
    train_loss: Sequence[str] = field(default=TRAIN_LOSS)

    def trained(self, message: Message) -> ArrayRecord:
        """The arrays of an answer: under the usual key, or the only ones there are."""
        records = message.content.array_records
        if self.arrays in records:
            return records[self.arrays]
        if len(records) != 1:
            raise InputError(f"its answer has {len(records)} array records; one is expected")
        return next(iter(records.values()))

    def count(self, message: Message) -> int:
        """How many samples the answer rests on."""
        value = self.metric(message, (self.samples,))
        if value is None or value != int(value):
            raise InputError(f"its metrics hold no whole number {self.samples!r}")
        return int(value)

    def metric(self, message: Message, names: Sequence[str]) -> float | None:
        """The first of these metrics that the answer has."""
        for name in names:
            for record in message.content.metric_records.values():
                value = record.get(name)
                if (
                    isinstance(value, int | float)
                    and not isinstance(value, bool)
                    and abs(value) < float("inf")
                ):
                    return float(value)
        return None
