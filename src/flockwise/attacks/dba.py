"""DBA: one trigger, of which each attacker trains on a part.

Xie, Huang, Chen, Li: DBA: Distributed Backdoor Attacks against Federated Learning, ICLR 2020. No client ever shows the whole
trigger, and the parts weigh less each; put together at test time they work. As in the paper, the parts are four bars in
the upper left corner, and attackers take them in turn.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import DataAttack, Goal, Poison, View, attack
from flockwise.attacks.data import PoisonShare, Target, triggered
from flockwise.attacks.knowledge import own_updates
from flockwise.errors import InputError
from flockwise.options import Count, Natural, Positive
from flockwise.types import Updates

BARS = 4


@attack(
    "a backdoor whose trigger attackers share out among themselves",
    kind="data",
    paper="Xie, Huang, Chen and Li, DBA, ICLR 2020",
    example={"size": 1},
)
def dba(
    target: Target = 0,
    share: PoisonShare = 0.5,
    size: Annotated[Count, "pixels of a bar's length"] = 3,
    gap: Annotated[Natural, "pixels between bars"] = 1,
    scale: Annotated[Positive, "how many times as long the update is sent"] = 1.0,
) -> DataAttack:
    """The n-th attacker stamps bar n of four; the goal is the whole trigger. Each knows its own update."""

    def part(attacker: int) -> Poison:
        return triggered(lambda x: barred(x, (attacker % BARS,), size, gap), target, share)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return (own_updates(view) * np.float32(scale)).astype(np.float32, copy=False)

    goal = Goal(target, lambda x: barred(x, range(BARS), size, gap))
    return DataAttack(part(0), goal, craft, part=part)


def barred(x: np.ndarray, bars: "range | tuple[int, ...]", size: int, gap: int) -> np.ndarray:
    """Copies of images (n, height, width, channels) with these of the four bars at full brightness."""
    if x.ndim != 4 or x.shape[1] < gap + 2 or x.shape[2] < 2 * size + gap:
        raise InputError(
            f"x has shape {x.shape}: must be images (n, height, width, channels) with room for two bars of {size} "
            f"pixels and a gap of {gap}; lower size or gap"
        )
    stamped = x.copy()
    for bar in bars:
        row, column = (bar // 2) * (gap + 1), (bar % 2) * (size + gap)
        stamped[:, row, column : column + size] = 1.0
    return stamped
