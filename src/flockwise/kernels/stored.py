"""Rows that lie on disk, read a block at a time: a round too large for memory.

A sum or a sort of every column works on blocks of columns, lengths and products of rows on blocks of rows. Each column, and
each row, is reckoned as it would be in memory, so nothing but the last rounding can depend on the blocks. To choose rows
costs nothing; to choose columns, or one row, reads them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from flockwise.types import Updates, Vector

BLOCK_BYTES = 64 << 20  # of rows that are in memory at a time
ALIGNED = 64  # columns or rows; blocks end where the kernels' own registers do

Some = TypeVar("Some", bound=NDArray[Any])


class RowSource(Protocol):
    """Where rows lie."""

    def read(self, places: NDArray[np.int64], start: int, stop: int) -> Updates:
        """The columns from `start` to before `stop` of the rows in these places."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Some rows of a source, in the order of `places`: a matrix as far as kernels ask."""

    source: RowSource
    places: NDArray[np.int64]
    columns: int

    dtype = np.dtype(np.float32)

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        return len(self.places), self.columns

    @property
    def nbytes(self) -> int:
        """What they would take in memory."""
        return 4 * len(self.places) * self.columns

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return len(self.places) * self.columns

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Vector]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            rows, (start, stop, _) = key[0], key[1].indices(self.columns)
            return self.source.read(self.places[rows], start, stop)
        if isinstance(key, int | np.integer):
            return self.source.read(self.places[[int(key)]], 0, self.columns)[0]
        return StoredRows(self.source, self.places[key], self.columns)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All of them in memory, for whoever cannot do with less."""
        whole = self.source.read(self.places, 0, self.columns)
        return whole if dtype is None else whole.astype(dtype, copy=False)


Matrix: TypeAlias = Updates | StoredRows


def by_columns(kernel: Callable[[Updates], Vector], rows: StoredRows) -> Vector:
    """A kernel that makes one number of each column, on as many columns at a time as fit into a block."""
    return np.concatenate([kernel(rows[:, piece]) for piece in _pieces(rows.columns, len(rows))])


def by_rows(kernel: Callable[[Updates], Some], rows: Matrix) -> Some:
    """A kernel that works on each row by itself, on as many rows at a time as fit into a block."""
    if not isinstance(rows, StoredRows):
        return kernel(rows)
    found = [kernel(np.asarray(rows[piece])) for piece in _pieces(len(rows), rows.columns)]
    return np.concatenate(found)  # type: ignore[return-value]


def _pieces(count: int, length: int) -> list[slice]:
    """So many lines of this length in blocks of about the same size: a small one would be reckoned in another way."""
    most = max(BLOCK_BYTES // (4 * max(length, 1)), 1)
    step = ALIGNED if most >= ALIGNED else 1
    steps = -(-count // step)
    parts = max(-(-steps // (most // step)), 1)
    cuts = [min(steps * part // parts * step, count) for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(cuts)]
