"""Takeover: sybils gather around the loneliest client and outvote it in a flock of their own.

Where attackers are the majority of a flock, a robust rule inside it works for them. What they know: everybody's updates of
the round, and the server's flocks.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, against, flocks_found, near
from flockwise.attacks.knowledge import center, others_updates, products, squared_distances
from flockwise.options import NonNegative, Positive
from flockwise.types import Updates


@attack("copies of the loneliest client until they own its flock, then its mean turned round", kind="update")
def takeover(
    scale: Annotated[Positive, "how many times as long the poison is as the flock's mean"] = 1.0,
    noise: Annotated[NonNegative, "length of the noise on a copy, in lengths of the update"] = 0.05,
) -> UpdateAttack:
    """Near copies of the honest update farthest from its nearest; then, from all, -scale times the mean of their flock."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "takeover")
        if flocks_found(view, "takeover"):
            return against(view, "takeover", scale)
        mean = center(others)
        away = squared_distances(products(others, mean, mean)[0])
        np.fill_diagonal(away, np.inf)
        loneliest = int(away.min(axis=1).argmax()) if len(others) > 1 else 0
        return near(others[loneliest].astype(np.float64), view, rng, noise)

    return UpdateAttack(craft, KNOWS)
