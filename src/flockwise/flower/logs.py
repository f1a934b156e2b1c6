"""What a run tells in Flower's log."""

import math
from logging import INFO, WARNING

from flockwise.flower.internals import log
from flockwise.runs.loop import Progress
from flockwise.terminal import printable

_FACTS = ("flocks", "participants", "rejected", "train_loss", "accuracy", "accuracy_worst", "apart")


def log_round(told: Progress) -> None:
    """A closed round: its numbers on a line, then its events."""
    values = {name: told.facts.get(name, math.nan) for name in _FACTS}
    numbers = "  ".join(f"{name} {value:.4g}" for name, value in values.items() if not math.isnan(value))
    if told.note and told.round == 1:
        log(WARNING, "flockwise: %s", printable(told.note))
    log(INFO, "flockwise: round %d/%d: %s", told.round, told.rounds, numbers)
    for event in told.events:
        who = "" if event.client is None else f" (client {event.client})"
        log(INFO, "flockwise:   %s: %s%s", event.kind, printable(event.message), who)
