"""Drifter: turns round so slowly that it never points against its own past.

Against a server that compares an update with what its client has sent before (shepherd's courses): the contrary of what the
flock wants, but in no round further from its own course than `turn`; the course follows, and soon the contrary is what it
has always sent. Where a server keeps no courses there is nothing to be careful about, and it turns at once. What it knows:
everybody's updates of the round, the server's flocks, and its own course, which it can compute from what it has sent.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, flock_of, flocks_found
from flockwise.attacks.knowledge import center, others_updates, own_updates, turned_towards
from flockwise.options import Positive
from flockwise.types import Updates


@attack("against its flock, but never against its own past: a slow turn", kind="update")
def drifter(
    turn: Annotated[float, Field(gt=0, lt=180), "most degrees between an update and its own course"] = 60.0,
    scale: Annotated[Positive, "how many times as long as the median of its flock's updates"] = 1.0,
) -> UpdateAttack:
    """From each the mean of its flock, turned round, as far as its own course lets it; honest while it has no course."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others_updates(view, "drifter")
        flocks_found(view, "drifter")
        sent = own_updates(view).astype(np.float64)
        for number in range(len(sent)):
            mates = flock_of(view, number, "drifter")
            course = None if view.course is None else view.course[number].astype(np.float64)
            if course is not None and not course.any():
                continue  # who has no past yet begins one
            wanted = -center(mates)
            if course is not None:
                wanted = turned_towards(wanted, course, float(np.cos(np.radians(turn))))
            length = float(np.linalg.norm(wanted)) or 1.0
            lengths = np.linalg.norm(mates.astype(np.float64), axis=1)
            sent[number] = wanted / length * scale * np.median(lengths)
        return sent.astype(np.float32)

    return UpdateAttack(craft, KNOWS | {"course"})
