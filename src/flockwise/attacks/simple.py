"""Attacks that need no more than the attackers' own updates."""

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View
from flockwise.attacks.knowledge import own_updates
from flockwise.errors import InputError
from flockwise.types import Updates

_OWN, _NOTHING = frozenset({"own"}), frozenset[str]()


def reverse(scale: float = 1.0) -> UpdateAttack:
    """Each attacker sends its honest update times -scale (FLIC's minus-grad: 1; Mini-FL's reverse: 100)."""
    _finite("scale", scale)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return (own_updates(view) * np.float32(-scale)).astype(np.float32, copy=False)

    return UpdateAttack("reverse", "the honest update, turned round and scaled", _OWN, craft)


def random_update(low: float = 0.0, high: float = 1.0) -> UpdateAttack:
    """Uniform random numbers instead of an update; [0, 1) as in Garfield, which Mini-FL follows."""
    _finite("low", low)
    if not low < high < float("inf"):
        raise InputError(f"high = {high}: must be finite and above low = {low}")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        drawn = rng.random(own_updates(view).shape, dtype=np.float32)
        return drawn * np.float32(high - low) + np.float32(low)

    return UpdateAttack("random-update", "uniform random numbers", _NOTHING, craft)


def gaussian(std: float = 1.0) -> UpdateAttack:
    """Gaussian random numbers with mean 0 instead of an update."""
    if not 0 < std < float("inf"):
        raise InputError(f"std = {std}: must be a positive number")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return rng.standard_normal(own_updates(view).shape, dtype=np.float32) * np.float32(std)

    return UpdateAttack("gaussian", "Gaussian random numbers", _NOTHING, craft)


def partial_drop(p: float = 0.8, value: float = -1.0) -> UpdateAttack:
    """Each coordinate of the honest update is replaced by `value` with probability p.

    Garfield's drop attack has value 0; Mini-FL strengthens it to -1.
    """
    if not 0 <= p <= 1:
        raise InputError(f"p = {p}: must lie between 0 and 1; 0.8 replaces four of five numbers")
    _finite("value", value)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view).astype(np.float32)
        own[rng.random(own.shape, dtype=np.float32) < p] = value
        return own

    return UpdateAttack("partial-drop", "part of the honest update replaced by a constant", _OWN, craft)


def _finite(name: str, value: float) -> None:
    if not np.isfinite(value):
        raise InputError(f"{name} = {value}: must be a finite number")
