"""Splits: who holds which data. Each deals a data set out to clients and returns a Federation."""

from flockwise.splits.by_writer import by_writer
from flockwise.splits.dirichlet import dirichlet
from flockwise.splits.iid import iid
from flockwise.splits.label_swap import label_swap
from flockwise.splits.majority_class import majority_class
from flockwise.splits.noniid_degree import noniid_degree
from flockwise.splits.pathological import pathological
from flockwise.splits.registry import SPLITS, Split, find_split
from flockwise.splits.rotation import rotation

__all__ = [
    "SPLITS",
    "Split",
    "by_writer",
    "dirichlet",
    "find_split",
    "iid",
    "label_swap",
    "majority_class",
    "noniid_degree",
    "pathological",
    "rotation",
]
