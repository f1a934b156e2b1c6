"""Min-Max and Min-Sum: as far from the mean as an honest client could be, and no farther.

Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021. All attackers send mean + scale *
direction with the largest scale that keeps their distances within those among honest updates. The paper
searches the scale by halving; here it is the exact root of a quadratic.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from flockwise.attacks.contract import UpdateAttack, View, attack
from flockwise.attacks.knowledge import (
    Knowledge,
    center,
    needs,
    own_updates,
    products,
    spread,
    squared_distances,
    visible,
)
from flockwise.types import Updates

Deviation = Annotated[Literal["unit", "std", "sign"], "the direction away from the mean"]
Seen = Annotated[Knowledge, "whose updates the attackers see"]
PAPER = "Shejwalkar and Houmansadr, Manipulating the Byzantine, NDSS 2021"
Largest = Callable[[Updates, np.ndarray, np.ndarray], float]  # honest updates, their mean, direction -> scale


@attack("as far from the mean as the farthest honest pair allows", kind="update", paper=PAPER)
def min_max(deviation: Deviation = "unit", knowledge: Seen = "all") -> UpdateAttack:
    """No farther from any honest update than the two farthest honest updates from each other."""
    return _within("min-max", deviation, knowledge, _largest_min_max)


@attack("as far from the mean as the most remote honest client allows", kind="update", paper=PAPER)
def min_sum(deviation: Deviation = "unit", knowledge: Seen = "all") -> UpdateAttack:
    """Summed squared distance to the honest updates no larger than any honest update's."""
    return _within("min-sum", deviation, knowledge, _largest_min_sum)


def _within(name: str, deviation: str, knowledge: str, largest: Largest) -> UpdateAttack:
    known = needs(knowledge)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        sent = np.empty(own_updates(view).shape, dtype=np.float32)
        for attackers, seen in visible(view, knowledge, name):
            mean = center(seen)
            direction = _direction(deviation, seen, mean)
            scale = largest(seen, mean, direction) if direction.any() else 0.0
            sent[attackers] = mean + scale * direction
        return sent

    return UpdateAttack(craft, known)


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
