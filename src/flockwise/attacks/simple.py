"""Attacks that need no more than the attackers' own updates."""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.knowledge import own_updates
from flockwise.errors import InputError
from flockwise.options import Positive, Share
from flockwise.types import Updates

_OWN, _NOTHING = frozenset({"own"}), frozenset[str]()


@attack("the honest update, turned round and scaled", kind="update")
def reverse(scale: Annotated[float, "how many times as long"] = 1.0) -> UpdateAttack:
    """Each attacker sends its honest update times -scale (FLIC's minus-grad: 1; Mini-FL's reverse: 100)."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return (own_updates(view) * np.float32(-scale)).astype(np.float32, copy=False)

    return UpdateAttack(craft, _OWN)


@attack("uniform random numbers", kind="update")
def random_update(
    low: Annotated[float, "smallest number"] = 0.0, high: Annotated[float, "largest number"] = 1.0
) -> UpdateAttack:
    """Uniform random numbers instead of an update; [0, 1) as in Garfield, which Mini-FL follows."""
    if not low < high:
        raise InputError(f"high = {high}: must be above low = {low}")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        drawn = rng.random(own_updates(view).shape, dtype=np.float32)
        return drawn * np.float32(high - low) + np.float32(low)

    return UpdateAttack(craft, _NOTHING)


@attack("Gaussian random numbers", kind="update")
def gaussian(std: Annotated[Positive, "standard deviation"] = 1.0) -> UpdateAttack:
    """Gaussian random numbers with mean 0 instead of an update."""

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return rng.standard_normal(own_updates(view).shape, dtype=np.float32) * np.float32(std)

    return UpdateAttack(craft, _NOTHING)


@attack("part of the honest update replaced by a constant", kind="update")
def partial_drop(
    p: Annotated[Share, "share of the numbers that are replaced"] = 0.8,
    value: Annotated[float, "what they are replaced by"] = -1.0,
) -> UpdateAttack:
    """Each coordinate of the honest update is replaced by `value` with probability p.

    Garfield's drop attack has value 0; Mini-FL strengthens it to -1.
    """

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view).astype(np.float32)
        own[rng.random(own.shape, dtype=np.float32) < p] = value
        return own

    return UpdateAttack(craft, _OWN)
