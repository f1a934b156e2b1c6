"""White box: attackers that simulate the server's rule and send what harms most.

After Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021, who tailor attacks to rules; here any rule is simply
tried. Directions: against the mean, against its signs, against the spread, and both ways along the direction in which
honest updates differ most; strengths: a ladder from a tenth of an honest length to thirty. What they know: everybody's
updates of the round, the server's flocks, and the rule with its options, but not its seed, memory or own data. Finding
the flocks is not simulated: only what becomes of the flock they are in.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.flocks import KNOWS, flock_of, flocks_found
from flockwise.attacks.knowledge import center, others_updates, own_updates, products, repeated, spread
from flockwise.errors import InputError
from flockwise.options import Several
from flockwise.types import Updates, Vector

Simulation = Callable[[Updates], Vector]
WEAKEST, STRONGEST = 0.1, 30.0


@attack(
    "of many directions and strengths, what the server's rule stands worst",
    kind="update",
    paper="after Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021",
)
def white_box(steps: Annotated[Several, "strengths that are tried in each direction"] = 8) -> UpdateAttack:
    """From all attackers of a flock the same: what moves the simulated result least along the honest mean."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others_updates(view, "white-box")
        flocks_found(view, "white-box")
        simulate = view.simulate
        if simulate is None:
            raise InputError(
                "simulate = None: white-box needs the server's rule; one given in Python is not known"
            )
        own = own_updates(view)
        assert view.groups is not None
        groups = np.asarray(view.groups)[: len(own)]
        sent = np.empty(own.shape, dtype=np.float32)
        for group in np.unique(groups):
            attackers = np.flatnonzero(groups == group)
            mates = flock_of(view, int(attackers[0]), "white-box")
            mean = center(mates)
            if not np.isfinite(mates).all():  # the model is ruined: there is nothing left to search
                sent[attackers] = own[attackers]
                continue
            lies = len(attackers)
            sent[attackers] = min(
                candidates(mates, mean, steps), key=lambda row: _progress(row, lies, mates, mean, simulate)
            )
        return sent

    return UpdateAttack(craft, KNOWS | {"rule"})


def _progress(row: np.ndarray, lies: int, mates: Updates, mean: np.ndarray, simulate: Simulation) -> float:
    """How far the flock gets along the honest mean if so many attackers send this row."""
    return float(simulate(np.concatenate([repeated(row, lies), mates])).astype(np.float64) @ mean)


def candidates(mates: Updates, mean: np.ndarray, steps: int) -> Iterator[np.ndarray]:
    """Updates at these strengths in these directions; a direction of no length says nothing."""
    length = float(np.linalg.norm(mean)) or 1.0
    gram, _ = products(mates, mean, mean)
    if not np.isfinite(gram).all():  # so long that their products are no numbers
        yield mean
        return
    shares = np.linalg.eigh(gram)[1][:, -1]
    widest = shares @ (mates - mean)
    yield mean
    for direction in (-mean, -np.sign(mean), -spread(mates) * np.sign(mean), widest, -widest):
        size = float(np.linalg.norm(direction))
        for strength in np.geomspace(WEAKEST, STRONGEST, steps) if size > 0 else ():
            yield direction / size * length * strength
            yield mean + direction / size * length * strength
