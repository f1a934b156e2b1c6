"""Splitter: pulls clients of one kind to two sides, so that the server takes them for two.

Halves learn from half of the data, and honest clients end up where liars are many. What it knows: everybody's updates of the
round, and the server's flocks.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, flock_of, flocks_found, smaller_side
from flockwise.attacks.knowledge import center, others_updates, own_updates
from flockwise.options import Positive
from flockwise.types import Updates


@attack("updates on two sides of a flock, so that it is taken for two", kind="update")
def splitter(
    reach: Annotated[Positive, "how far out on each side, in distances between the flock's halves"] = 2.0,
) -> UpdateAttack:
    """Attackers in turn stand beyond one half of their flock and beyond the other, along the line between them."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others_updates(view, "splitter")
        flocks_found(view, "splitter")
        sent = []
        for number in range(len(own_updates(view))):
            mates = flock_of(view, number, "splitter")
            few = smaller_side(mates)
            apart = center(mates[few]) - center(mates[~few]) if (~few).any() else np.zeros(mates.shape[1])
            sent.append(center(mates) + (reach if number % 2 else -reach) * apart)
        return np.stack(sent).astype(np.float32)

    return UpdateAttack(craft, KNOWS)
