"""What dishonest clients do: to the updates they send, or to the data they train on.

Every attack on updates says what it must know (`knows`), and raises InputError if its view lacks it.
A new file in this folder with a function under `@attack` is all it takes to add one.
"""

from typing import TYPE_CHECKING, Any

from flockwise.attacks.contract import (
    ATTACKS,
    Attack,
    AttackPiece,
    DataAttack,
    Goal,
    UpdateAttack,
    View,
    attack,
)
from flockwise.attacks.data import backdoor, label_flip, label_to, noise, stamp
from flockwise.attacks.local_model_poisoning import local_model_poisoning
from flockwise.attacks.mimic import mimic
from flockwise.attacks.optimised import min_max, min_sum
from flockwise.attacks.simple import gaussian, partial_drop, random_update, reverse
from flockwise.attacks.statistical import fall_of_empires, little_is_enough

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackPiece",
    "DataAttack",
    "Goal",
    "UpdateAttack",
    "View",
    "attack",
    "backdoor",
    "fall_of_empires",
    "gaussian",
    "label_flip",
    "label_to",
    "little_is_enough",
    "local_model_poisoning",
    "mimic",
    "min_max",
    "min_sum",
    "noise",
    "partial_drop",
    "random_update",
    "reverse",
    "stamp",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return ATTACKS.exported(name)
