"""Mimic (Karimireddy, He and Jaggi, ICLR 2022): all attackers copy one honest client."""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.knowledge import center, needs, others_updates, own_updates, products, repeated, spread
from flockwise.errors import InputError
from flockwise.options import Natural, NonNegative
from flockwise.types import Updates

POWER_STEPS = 20


@attack(
    "exact copies of one honest client",
    kind="update",
    paper="Karimireddy, He and Jaggi, Byzantine-robust learning on heterogeneous datasets, ICLR 2022",
)
def mimic(
    target: Annotated[Natural | None, "row of the honest client to copy; none: the most remarkable"] = None,
    epsilon: Annotated[NonNegative, "noise on the copies, as a share of the honest spread"] = 0.0,
) -> UpdateAttack:
    """Nothing looks wrong, but one client's data count many times: an attack on non-IID clients.

    `target` is the row among the honest clients of the round; None picks the client that stands out most
    along the direction in which honest updates differ most (the paper learns it over rounds, here it is of
    this round). `epsilon` adds Gaussian noise of that share of each coordinate's spread, so that copies are
    not exactly equal.
    """

    def craft(view: View, rng: np.random.Generator) -> Updates:
        attackers = len(own_updates(view))
        others = others_updates(view, "mimic")
        if target is not None and target >= len(others):
            raise InputError(
                f"target = {target}: must be below {len(others)}, the honest clients of the round"
            )
        chosen = target if target is not None else _most_remarkable(others, rng)
        sent = repeated(others[chosen], attackers)
        if epsilon > 0:
            noise = rng.standard_normal(sent.shape, dtype=np.float32)
            sent += noise * (epsilon * spread(others)).astype(np.float32)
        return sent

    return UpdateAttack(craft, needs("all"))


def _most_remarkable(others: Updates, rng: np.random.Generator) -> int:
    mean = center(others)
    gram, _ = products(others, mean, mean)
    weights = rng.standard_normal(len(others))
    for _ in range(POWER_STEPS):
        weights = gram @ weights
        length = float(np.linalg.norm(weights))
        if length == 0:
            return 0  # all honest updates are equal
        weights /= length
    return int(np.abs(weights).argmax())
