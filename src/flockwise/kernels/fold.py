"""Sketches: a few numbers for each row that keep inner products and distances, up to a known error.

The columns are cut into blocks as wide as the sketch; each number gets a random sign, each block is turned by a random
amount, and the blocks are added up (a count sketch whose places come in runs, so that the processor reads and writes
straight ahead). The inner product of two sketches is right on average, with a standard deviation of at most
sqrt((1 + cos^2) / width) times both lengths; cosines are off by about (1 - cos^2) / sqrt(width), distances by
1 / sqrt(2 width) of themselves. Rows no longer than the sketch keep everything.

A row's sketch depends on nothing but the row and the fold: rows may come in any blocks, columns in any spans, in order.
C++ and NumPy give the same bits: a sign times a number is exact, and each sum has one order.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.checks import as_count
from flockwise.rng import generator
from flockwise.types import Updates, Vector

LEAST_WIDTH, MOST_WIDTH = 16, 65536


@dataclass(frozen=True)
class Fold:
    """A sketch of rows of `size` numbers to `width`, drawn from a seed."""

    size: int
    width: int
    seed: int = 0

    def __post_init__(self) -> None:
        as_count(self.size, "size", 1)
        as_count(self.width, "sketch", LEAST_WIDTH, MOST_WIDTH)

    @cached_property
    def signs(self) -> Vector:
        """1 or -1 for each column."""
        drawn = np.frombuffer(
            generator(self.seed, "sketch signs").bytes((self.size + 7) // 8), dtype=np.uint8
        )
        return (1.0 - 2.0 * np.unpackbits(drawn)[: self.size]).astype(np.float32)

    @cached_property
    def turns(self) -> NDArray[np.int64]:
        """By how much each block of columns is turned."""
        count = -(-self.size // self.width)
        return generator(self.seed, "sketch turns").integers(0, self.width, count)

    def __call__(self, rows: Updates) -> Updates:
        """The sketches (rows, width) of whole rows."""
        total = np.zeros((len(rows), self.width), dtype=np.float32)
        self.add(rows, 0, total)
        return total

    def add(self, columns: Updates, first: int, total: Updates) -> None:
        """Add what columns `first`, `first` + 1, ... of rows give to their sketches, in place; columns in order."""
        if columns.dtype != np.float32 or (columns.size and columns.strides[1] != 4):
            columns = np.ascontiguousarray(columns, dtype=np.float32)
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # whoever keeps sketches looks whether they are finite
            if not native.fold(columns, self.signs, self.turns, first, total):
                self._plainly(columns, first, total)

    def _plainly(self, columns: Updates, first: int, total: Updates) -> None:
        at, stop = first, first + columns.shape[1]
        while at < stop:
            block, inside = divmod(at, self.width)
            place = (inside + int(self.turns[block])) % self.width
            count = min(stop - at, self.width - inside, self.width - place)
            total[:, place : place + count] += (
                self.signs[at : at + count] * columns[:, at - first : at - first + count]
            )
            at += count


@lru_cache(maxsize=4)
def fold_of(size: int, width: int, seed: int) -> Fold:
    """The fold, with its signs drawn once."""
    return Fold(size, width, seed)
