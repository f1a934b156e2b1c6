"""Splits: who holds which data. Each deals a data set out to clients and returns a Federation."""

from flockwise.splits.iid import iid
from flockwise.splits.label_swap import label_swap
from flockwise.splits.registry import SPLITS, Split, find_split
from flockwise.splits.rotation import rotation

__all__ = ["SPLITS", "Split", "find_split", "iid", "label_swap", "rotation"]
