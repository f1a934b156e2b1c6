"""Rates that fall along half a cosine (Loshchilov and Hutter, SGDR, ICLR 2017, without restarts)."""

import math
from typing import Annotated

from flockwise.errors import InputError
from flockwise.options import Count, Share
from flockwise.schedules.contract import schedule


@schedule("falls along half a cosine from the first round to the last")
def cosine(
    turn: int,
    turns: int | None,
    floor: Annotated[Share, "share of the learning rate that is left at the end"] = 0.0,
    over: Annotated[
        Count | None, "turns until the end; none: all of the run, or of the client's round"
    ] = None,
) -> float:
    """1 in the first turn, `floor` after the last. `over` is written into the run's config, so that a run that is
    given more rounds later keeps the rates it had.
    """
    whole = over if over is not None else turns
    if whole is None:
        raise InputError("cosine: over how many turns? say so, as in cosine(over=30)")
    share = min(turn / whole, 1.0)
    return floor + (1 - floor) * (1 + math.cos(math.pi * share)) / 2
