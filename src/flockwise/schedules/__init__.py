"""Learning rates that change: over the rounds of a run, or over the steps of a client inside a round.

A new file in this folder with a function under `@schedule` is all it takes to add one.
"""

from typing import TYPE_CHECKING, Any

from flockwise.schedules.contract import (
    SCHEDULES,
    Schedule,
    SchedulePiece,
    factor_of,
    schedule,
    schedules_from,
)
from flockwise.schedules.cosine import cosine
from flockwise.schedules.decay import exponential, step
from flockwise.schedules.steady import constant, warmup

__all__ = [
    "SCHEDULES",
    "Schedule",
    "SchedulePiece",
    "constant",
    "cosine",
    "exponential",
    "factor_of",
    "schedule",
    "schedules_from",
    "step",
    "warmup",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return SCHEDULES.exported(name)
