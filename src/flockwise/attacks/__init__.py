"""What dishonest clients do: to the updates they send, or to the data they train on.

Every attack on updates says what it must know (`knows`), and raises InputError if its view lacks it.
A new file in this folder with a function under `@attack` is all it takes to add one.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

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
from flockwise.attacks.data import stamp

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackPiece",
    "DataAttack",
    "Goal",
    "UpdateAttack",
    "View",
    "attack",
    "stamp",
]
__all__ += [piece.function.__name__ for piece in ATTACKS.values()]
