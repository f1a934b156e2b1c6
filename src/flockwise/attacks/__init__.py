"""What dishonest clients do: to the updates they send, or to the data they train on.

Every attack on updates says what it must know (`knows`), and raises InputError if its view lacks it.
A new file in this folder with a function under `@attack` is all it takes to add one.
"""

from typing import TYPE_CHECKING, Any

from flockwise.attacks.bridge import bridge
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
from flockwise.attacks.dba import dba
from flockwise.attacks.edge_cases import edge_cases
from flockwise.attacks.framer import framer
from flockwise.attacks.imitator import imitator
from flockwise.attacks.local_model_poisoning import local_model_poisoning
from flockwise.attacks.mimic import mimic
from flockwise.attacks.model_replacement import constrain_and_scale, model_replacement
from flockwise.attacks.neurotoxin import neurotoxin
from flockwise.attacks.optimised import min_max, min_sum
from flockwise.attacks.optimised_trigger import optimised_trigger
from flockwise.attacks.simple import gaussian, partial_drop, random_update, reverse
from flockwise.attacks.sleeper import sleeper
from flockwise.attacks.splitter import splitter
from flockwise.attacks.statistical import fall_of_empires, little_is_enough
from flockwise.attacks.sybils import sybils
from flockwise.attacks.takeover import takeover
from flockwise.attacks.white_box import white_box

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
    "bridge",
    "constrain_and_scale",
    "dba",
    "edge_cases",
    "fall_of_empires",
    "framer",
    "gaussian",
    "imitator",
    "label_flip",
    "label_to",
    "little_is_enough",
    "local_model_poisoning",
    "mimic",
    "min_max",
    "min_sum",
    "model_replacement",
    "neurotoxin",
    "noise",
    "optimised_trigger",
    "partial_drop",
    "random_update",
    "reverse",
    "sleeper",
    "splitter",
    "stamp",
    "sybils",
    "takeover",
    "white_box",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return ATTACKS.exported(name)
