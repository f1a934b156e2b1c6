"""Bridge: stands between two kinds of clients so that the server takes them for one.

Clusterers that join what is near, one after another, walk over the bridge; two kinds that share a model help neither. What
it knows: everybody's updates of the round, and whether the server has looked for flocks.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, against, flocks_found, smaller_side
from flockwise.attacks.knowledge import center, others_updates, own_updates
from flockwise.options import NonNegative
from flockwise.types import Updates


@attack("updates between two kinds of clients, so that they are taken for one", kind="update")
def bridge(
    scale: Annotated[
        NonNegative, "once flocks are found: times the flock's mean, turned round; 0: go on bridging"
    ] = 0.0,
) -> UpdateAttack:
    """Attackers stand at equal steps on the way from the mean of one kind to the mean of the other."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "bridge")
        if flocks_found(view, "bridge") and scale > 0:
            return against(view, "bridge", scale)
        few = smaller_side(others)
        start, end = center(others[few]), center(others[~few]) if (~few).any() else center(others)
        count = len(own_updates(view))
        steps = (np.arange(count) + 1) / (count + 1)
        return np.asarray(start + steps[:, None] * (end - start), dtype=np.float32)

    return UpdateAttack(craft, KNOWS)
