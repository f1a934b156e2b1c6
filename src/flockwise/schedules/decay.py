"""Rates that fall by the same factor again and again."""

from typing import Annotated

from flockwise.options import Count, Positive
from flockwise.schedules.contract import schedule

Every = Annotated[Count, "turns from one fall to the next"]


@schedule("falls a little in every round, such as x 0.99")
def exponential(turn: int, factor: Annotated[Positive, "of the learning rate, a turn"] = 0.99) -> float:
    """The learning rate times `factor` to the number of turns that are over."""
    return float(factor**turn)


@schedule("falls by a factor every so many rounds")
def step(
    turn: int, every: Every = 10, factor: Annotated[Positive, "of the learning rate, at each fall"] = 0.5
) -> float:
    """Constant between falls."""
    return float(factor ** (turn // every))
