"""Splits: who holds which data. Each deals a data set out to clients and returns a Federation.

A new file in this folder with a function under `@split` is all it takes to add one.
"""

from typing import TYPE_CHECKING, Any

from flockwise.splits.by_writer import by_writer
from flockwise.splits.contract import SPLITS, SplitPiece, find_split, split
from flockwise.splits.dirichlet import dirichlet
from flockwise.splits.feature_dirichlet import feature_dirichlet
from flockwise.splits.feature_shift import feature_shift
from flockwise.splits.iid import iid
from flockwise.splits.kinds import kinds
from flockwise.splits.label_swap import label_swap
from flockwise.splits.majority_class import majority_class
from flockwise.splits.natural import natural
from flockwise.splits.noniid_degree import noniid_degree
from flockwise.splits.pathological import pathological
from flockwise.splits.quantity import quantity
from flockwise.splits.rotation import rotation

__all__ = [
    "SPLITS",
    "SplitPiece",
    "by_writer",
    "dirichlet",
    "feature_dirichlet",
    "feature_shift",
    "find_split",
    "iid",
    "kinds",
    "label_swap",
    "majority_class",
    "natural",
    "noniid_degree",
    "pathological",
    "quantity",
    "rotation",
    "split",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return SPLITS.exported(name)
