"""Learning rates that change: over the rounds of a run, or over the steps of a client inside a round.

A new file in this folder with a function under `@schedule` is all it takes to add one.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.schedules.contract import (
    SCHEDULES,
    Schedule,
    SchedulePiece,
    factor_of,
    schedule,
    schedules_from,
)

__all__ = ["SCHEDULES", "Schedule", "SchedulePiece", "factor_of", "schedule", "schedules_from"]
__all__ += [piece.function.__name__ for piece in SCHEDULES.values()]
