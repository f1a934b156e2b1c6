"""Framer: makes honest clients look hostile, so that a defence sets them apart.

Two ways, which may go together. By number: attackers side with the smaller kind until it is the larger, and a defence that
trusts the largest throws out the honest majority. By guilt: having joined a flock, they behave so badly that a judge takes
the whole flock. What they know: everybody's updates of the round, and the server's flocks.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, against, flocks_found, near, smaller_side
from flockwise.attacks.knowledge import center, others_updates
from flockwise.options import NonNegative
from flockwise.types import Updates


@attack("siding with a minority, so that others look hostile; or shaming the flock it joined", kind="update")
def framer(
    shame: Annotated[
        NonNegative, "once flocks are found: times its mean, turned round; 0: go on siding"
    ] = 0.0,
    noise: Annotated[NonNegative, "length of the noise on a copy, in lengths of the update"] = 0.1,
) -> UpdateAttack:
    """Near copies of the mean of the smaller of the two kinds that differ most; then, with `shame`, its contrary."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "framer")
        if flocks_found(view, "framer") and shame > 0:
            return against(view, "framer", shame)
        return near(center(others[smaller_side(others)]), view, rng, noise)

    return UpdateAttack(craft, KNOWS)
