"""Attacks that hide in the statistics of the honest updates they see.

With `knowledge="own"` these are the attackers' own honest updates, with `"all"` also everybody else's, with
`"groups"` those of the attacker's own flock on the server, so that attackers of different flocks send
different updates.
"""

from statistics import NormalDist
from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.knowledge import (
    Knowledge,
    center,
    needs,
    others_updates,
    own_updates,
    repeated,
    spread,
    visible,
)
from flockwise.types import Updates


@attack(
    "the mean, shifted by little more than honest spread",
    kind="update",
    paper="Baruch, Baruch and Goldberg, A little is enough, NeurIPS 2019",
)
def little_is_enough(
    z: Annotated[
        float | None, "standard deviations from the mean; none: as many as the paper computes"
    ] = 1.035,
    knowledge: Annotated[Knowledge, "whose updates the attackers see"] = "own",
) -> UpdateAttack:
    """All attackers send mean + z * standard deviation (Baruch, Baruch and Goldberg, NeurIPS 2019).

    z = None computes the largest z at which the attackers are still nearer to the mean than enough honest
    clients to form a majority with them (their Algorithm 3); this needs the number of all clients, so
    knowledge of everybody. Mini-FL uses z = 1.035, 1.535 and 2.035. A negative z pulls the other way.
    """
    known = needs(knowledge)
    if z is None:
        known |= needs("all")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view)
        if z is None:
            factor = supported_z(len(own) + len(others_updates(view, "little-is-enough")), len(own))
        else:
            factor = z
        sent = np.empty(own.shape, dtype=np.float32)
        for attackers, seen in visible(view, knowledge, "little-is-enough"):
            sent[attackers] = center(seen) + factor * spread(seen)
        return sent

    return UpdateAttack(craft, known)


def supported_z(clients: int, attackers: int) -> float:
    """The z of Baruch et al. for that many clients in all; about 6 if the attackers are a majority."""
    honest = clients - attackers
    supporters = clients // 2 + 1 - attackers
    share = (honest - supporters) / honest if honest > 0 else 1.0
    return max(0.0, NormalDist().inv_cdf(min(max(share, 1e-9), 1 - 1e-9)))


@attack(
    "the mean, turned round and scaled",
    kind="update",
    paper="Xie, Koyejo and Gupta, Fall of empires, UAI 2019",
)
def fall_of_empires(
    z: Annotated[float, "how many times as long"] = 10.0,
    knowledge: Annotated[Knowledge, "whose updates the attackers see"] = "own",
) -> UpdateAttack:
    """All attackers send -z times the mean (Xie, Koyejo and Gupta, UAI 2019); Mini-FL uses z = 1 and 10."""
    known = needs(knowledge)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        sent = np.empty(own_updates(view).shape, dtype=np.float32)
        for attackers, seen in visible(view, knowledge, "fall-of-empires"):
            sent[attackers] = repeated(-z * center(seen), len(attackers))
        return sent

    return UpdateAttack(craft, known)
