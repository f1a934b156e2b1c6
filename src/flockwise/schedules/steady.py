"""Rates that stay, and rates that are reached slowly."""

from typing import Annotated

from flockwise.options import Count
from flockwise.schedules.contract import schedule


@schedule("stays as it is")
def constant(turn: int) -> float:
    """The learning rate itself, in every turn."""
    return 1.0


@schedule("rises to the learning rate over the first rounds")
def warmup(turn: int, over: Annotated[Count, "turns until the whole rate is reached"] = 5) -> float:
    """In equal steps; from turn `over` on it is 1. Put it beside another one for what comes after."""
    return min((turn + 1) / over, 1.0)
