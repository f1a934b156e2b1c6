"""Memory that worker processes share, so that models are never copied through a pipe."""

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
