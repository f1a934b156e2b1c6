"""Splits: who holds which data. Each deals a data set out to clients and returns a Federation.

A new file in this folder with a function under `@split` is all it takes to add one.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.splits.contract import SPLITS, SplitPiece, find_split, split

__all__ = ["SPLITS", "SplitPiece", "find_split", "split"]
__all__ += [piece.function.__name__ for piece in SPLITS.values()]
