"""The updates of a round that is too large for memory, in a file without a name."""

import contextlib
import os
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import EngineError
from flockwise.kernels.stored import StoredRows
from flockwise.types import Updates

IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}  # file systems that are no disk
_MOUNTS = Path("/proc/self/mounts")


class Scratch:
    """A float32 matrix in a file that is unlinked at once: nothing is left behind however the process ends.

    It is read and written, not mapped: what is in memory of it is the caller's block, and cache that the system takes back
    when it needs to.
    """

    def __init__(self, rows: int, columns: int) -> None:
        handle, path = tempfile.mkstemp(prefix="flockwise-", dir=folder_for(4 * rows * columns))
        os.unlink(path)
        weakref.finalize(self, os.close, handle)  # its room on disk is free again with this object
        os.truncate(handle, 4 * rows * columns)
        self._handle, self._rows, self._columns = handle, rows, columns

    @property
    def rows(self) -> StoredRows:
        """What is written, to be read in blocks."""
        return StoredRows(self, np.arange(self._rows), self._columns)

    def write(self, places: list[int], updates: Updates) -> None:
        """Put a row of updates into each place."""
        for place, row in zip(places, updates, strict=True):
            at, left = 4 * self._columns * place, np.ascontiguousarray(row).data.cast("B")
            while left:
                try:
                    done = os.pwrite(self._handle, left, at)
                except OSError as error:
                    raise EngineError(f"the updates of a round cannot be written: {error}") from error
                at, left = at + done, left[done:]

    def read(self, places: NDArray[np.int64], start: int, stop: int) -> Updates:
        """Some columns of the rows in these places."""
        found = np.empty((len(places), stop - start), dtype=np.float32)
        for row, place in zip(found, places.tolist(), strict=True):
            at, left = 4 * (self._columns * place + start), row.data.cast("B")
            while left:
                done = os.preadv(self._handle, [left], at)
                if not done:
                    raise EngineError(
                        "the updates of a round are no longer on disk, as far as they were written"
                    )
                at, left = at + done, left[done:]
        return found


def folder_for(size: int) -> str | None:
    """A folder for what lasts a round, on a disk with room for so many bytes; None if there is none."""
    for folder in dict.fromkeys((tempfile.gettempdir(), "/var/tmp")):
        with contextlib.suppress(OSError):
            found = os.statvfs(folder)
            if found.f_bavail * found.f_frsize > size and file_system(folder) not in IN_MEMORY:
                return folder
    return None


def file_system(folder: str) -> str:
    """What kind of file system a folder is on; "" where nobody knows."""
    with contextlib.suppress(OSError):
        lines = [line.split() for line in _MOUNTS.read_text(encoding="utf-8").splitlines()]
        inside = [
            (len(point), kind) for _, point, kind, *_ in lines if Path(folder).resolve().is_relative_to(point)
        ]
        return max(inside, default=(0, ""))[1]
    return ""
