"""Memory that worker processes share, so that models are never copied through a pipe."""

import contextlib
import mmap
import os
import tempfile
from pathlib import Path

import numpy as np


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
        self.rows: np.ndarray = np.frombuffer(self._map, dtype=dtype)[: rows * columns].reshape(rows, columns)

    def free(self, rows: int) -> None:
        """Give the memory of the first rows back; what they hold is then undefined."""
        used = rows * self.rows.shape[1] * self.rows.itemsize // mmap.PAGESIZE * mmap.PAGESIZE
        if used and hasattr(mmap, "MADV_REMOVE"):
            with contextlib.suppress(OSError):  # a file system that cannot: the memory stays
                self._map.madvise(mmap.MADV_REMOVE, 0, used)
