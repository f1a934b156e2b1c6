"""Sybils: many clients, one hand.

Fung, Yoon, Beschastnikh: The Limitations of Federated Learning in Sybil Settings, RAID 2020 (the 1-7 attack). All of
them learn one wrong thing, and send one update, disguised by noise so that copies are not told by their equality.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import DataAttack, Goal, View, attack
from flockwise.attacks.data import check_class
from flockwise.attacks.knowledge import center, own_updates
from flockwise.errors import InputError
from flockwise.options import Natural, NonNegative
from flockwise.types import Updates


@attack(
    "one wrong label, learned by many and sent as one",
    kind="data",
    paper="Fung, Yoon and Beschastnikh, The limitations of federated learning in sybil settings, RAID 2020",
    example={"source": 1, "target": 2},
)
def sybils(
    source: Annotated[Natural, "the class that is to be mistaken"] = 1,
    target: Annotated[Natural, "what it is to be mistaken for"] = 7,
    noise: Annotated[NonNegative, "disguise: length of the noise on a copy, in lengths of the update"] = 0.1,
) -> DataAttack:
    """Samples of the source class get the target's label; all send the mean of their updates plus noise.

    They know one another's updates.
    """
    if source == target:
        raise InputError(f"source = {source}: must be another class than the target")

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        check_class("source", source, classes)
        check_class("target", target, classes)
        return x.copy(), np.where(y == source, target, y).astype(y.dtype)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        own = own_updates(view)
        mean = center(own)
        drawn = rng.standard_normal(own.shape)
        lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
        drawn *= noise * np.linalg.norm(mean) / np.maximum(lengths, 1e-300)
        return np.asarray(mean + drawn, dtype=np.float32)

    return DataAttack(poison, Goal(target, np.copy, source), craft)
