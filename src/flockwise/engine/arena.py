"""Memory that worker processes share, so that models are never copied through a pipe."""

import contextlib
import mmap
import os
import tempfile

import numpy as np

from flockwise.errors import EngineError


class Arena:
    """A matrix in a file that has no name.

    The file is unlinked at once, so nothing is left behind however the process ends, and pages that are
    never touched cost nothing. `likely` is how many rows will be in use at a time.
    """

    def __init__(
        self, rows: int, columns: int, dtype: type[np.floating] = np.float32, likely: int | None = None
    ) -> None:
        width = columns * np.dtype(dtype).itemsize
        size = max(rows * width, np.dtype(dtype).itemsize)
        handle, path = tempfile.mkstemp(
            prefix="flockwise-", dir=_roomy((rows if likely is None else likely) * width)
        )
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


def _roomy(size: int) -> str | None:
    """A folder with room for so many bytes, memory before disk: writing to a full one kills the process."""
    for folder in ("/dev/shm", tempfile.gettempdir()):
        with contextlib.suppress(OSError):
            found = os.statvfs(folder)
            if found.f_bavail * found.f_frsize > size:
                return folder
    raise EngineError(
        f"the models of a round take {size / 1e6:,.0f} MB, and neither /dev/shm nor {tempfile.gettempdir()} has room; "
        "give the container more shared memory (docker run --shm-size=2g), or point TMPDIR at a larger disk"
    )
