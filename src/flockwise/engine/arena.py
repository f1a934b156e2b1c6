"""Memory that worker processes share, so that models are never copied through a pipe."""

import contextlib
import mmap
import os
import tempfile
from pathlib import Path

import numpy as np

_WORTH_FREEING = 1 << 20  # bytes; giving memory back and getting it again has a price


class Arena:
    """A matrix in a file that has no name.

    The file is unlinked at once, so nothing is left behind however the process ends, and pages that are
    never touched cost nothing.
    """

    def __init__(self, rows: int, columns: int, dtype: type[np.floating] = np.float32) -> None:
        size = max(rows * columns * np.dtype(dtype).itemsize, 1)
        folder = Path("/dev/shm")
        handle, path = tempfile.mkstemp(prefix="flockwise-", dir=folder if folder.is_dir() else None)
        os.unlink(path)
        os.truncate(handle, size)
        self._map = mmap.mmap(handle, size)
        os.close(handle)
        self._row_bytes = columns * np.dtype(dtype).itemsize
        self.rows: np.ndarray = np.frombuffer(self._map, dtype=dtype)[: rows * columns].reshape(rows, columns)

    def take(self, row: int) -> np.ndarray:
        """A copy of a row; the memory of a large one is given back, its content is then undefined.

        A hundred clients' updates of a large model would otherwise be held twice for as long as the run lasts.
        """
        taken: np.ndarray = self.rows[row].copy()
        if self._row_bytes >= _WORTH_FREEING and hasattr(mmap, "MADV_REMOVE"):
            page = mmap.PAGESIZE
            first = -(-row * self._row_bytes // page) * page  # whole pages of this row only
            last = (row + 1) * self._row_bytes // page * page
            with contextlib.suppress(OSError):  # a file system that cannot: the memory stays
                self._map.madvise(mmap.MADV_REMOVE, first, last - first)
        return taken
