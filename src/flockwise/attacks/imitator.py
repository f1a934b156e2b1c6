"""Imitator: copies a minority until it is taken for one of them, then poisons that flock.

A small flock has few honest members, so each attacker weighs more in it than among all. What it knows: everybody's updates
of the round, and the server's flocks.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, against, flocks_found, near, smaller_side
from flockwise.attacks.knowledge import center, others_updates
from flockwise.options import NonNegative, Positive
from flockwise.types import Updates


@attack("copies of a minority until flocks are found, then its mean turned round", kind="update")
def imitator(
    scale: Annotated[Positive, "how many times as long the poison is as the flock's mean"] = 5.0,
    noise: Annotated[NonNegative, "length of the noise on a copy, in lengths of the update"] = 0.1,
) -> UpdateAttack:
    """The mean of the smaller of the two kinds that differ most, with noise; then -scale times the mean of its flock."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "imitator")
        if flocks_found(view, "imitator"):
            return against(view, "imitator", scale)
        return near(center(others[smaller_side(others)]), view, rng, noise)

    return UpdateAttack(craft, KNOWS)
