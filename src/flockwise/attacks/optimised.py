"""Min-Max and Min-Sum: as far from the mean as an honest client could be, and no farther.

Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021. All attackers send mean + scale *
direction with the largest scale that keeps their distances within those among honest updates. The paper
searches the scale by halving; here it is the exact root of a quadratic.
"""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View
from flockwise.attacks.knowledge import (
    center,
    needs,
    own_updates,
    products,
    spread,
    squared_distances,
    visible,
)
from flockwise.errors import InputError
from flockwise.types import Updates

Deviation = Literal["unit", "std", "sign"]
Largest = Callable[[Updates, np.ndarray, np.ndarray], float]  # honest updates, their mean, direction -> scale


def min_max(deviation: Deviation = "unit", knowledge: str = "all") -> UpdateAttack:
    """No farther from any honest update than the two farthest honest updates from each other."""
    summary = "as far from the mean as the farthest honest pair allows"
    return _within("min-max", summary, deviation, knowledge, _largest_min_max)


def min_sum(deviation: Deviation = "unit", knowledge: str = "all") -> UpdateAttack:
    """Summed squared distance to the honest updates no larger than any honest update's."""
    summary = "as far from the mean as the most remote honest client allows"
    return _within("min-sum", summary, deviation, knowledge, _largest_min_sum)


def _within(name: str, summary: str, deviation: str, knowledge: str, largest: Largest) -> UpdateAttack:
    known = needs(knowledge)
    if deviation not in get_args(Deviation):
        raise InputError(f"deviation = {deviation!r}: must be one of {', '.join(get_args(Deviation))}")

    def craft(view: View, rng: np.random.Generator) -> Updates:
        sent = np.empty(own_updates(view).shape, dtype=np.float32)
        for attackers, seen in visible(view, knowledge, name):
            mean = center(seen)
            direction = _direction(deviation, seen, mean)
            scale = largest(seen, mean, direction) if direction.any() else 0.0
            sent[attackers] = mean + scale * direction
        return sent

    return UpdateAttack(name, summary, known, craft)


def _direction(deviation: str, seen: Updates, mean: np.ndarray) -> np.ndarray:
    if deviation == "std":
        return -spread(seen)
    if deviation == "sign":
        against: np.ndarray = -np.sign(mean)
        return against
    length = float(np.linalg.norm(mean))
    unit: np.ndarray = -mean / length if length > 0 else mean
    return unit


def _largest_min_max(seen: Updates, mean: np.ndarray, direction: np.ndarray) -> float:
    gram, ahead = products(seen, mean, direction)
    limit = float(squared_distances(gram).max())
    steep = float(direction @ direction)
    # |mean + scale * direction - update|^2 <= limit, solved for the scale of each update
    room = np.maximum(ahead**2 + steep * (limit - np.diagonal(gram)), 0.0)
    return max(0.0, float((ahead + np.sqrt(room)).min()) / steep)


def _largest_min_sum(seen: Updates, mean: np.ndarray, direction: np.ndarray) -> float:
    gram, _ = products(seen, mean, direction)
    limit = float(squared_distances(gram).sum(axis=1).max())
    steep = len(seen) * float(direction @ direction)
    return float(np.sqrt(max(0.0, limit - float(np.trace(gram))) / steep))
