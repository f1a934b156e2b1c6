"""Sleeper: honest until flocks are found, then a wolf among them.

A method that looks for flocks once never looks at a sleeper again. What it knows: its own update, and whether the server
has looked for flocks (a server's schedule is no secret, and a change of one's own model shows it).
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import flocks_found
from flockwise.attacks.knowledge import own_updates
from flockwise.options import Positive
from flockwise.types import Updates


@attack("honest until flocks are found, then the update turned round", kind="update")
def sleeper(scale: Annotated[Positive, "how many times as long, once awake"] = 5.0) -> UpdateAttack:
    """The honest update until the server has looked for flocks, then that times -scale."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view)
        awake = flocks_found(view, "sleeper")
        return (own * np.float32(-scale if awake else 1.0)).astype(np.float32)

    return UpdateAttack(craft, frozenset({"own", "groups"}))
