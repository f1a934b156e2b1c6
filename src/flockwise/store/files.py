"""Every write to disk goes through here, so that there is one place to reason about, and to make fail."""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from flockwise.errors import BusyError

step: Callable[[str], None] = lambda name: None  # noqa: E731  a test replaces this to fail or die at a named step


def write_atomically(path: Path, content: bytes) -> None:
    """The file holds all of the content or what it held before, whatever happens in between."""
    temporary = path.with_name(f".{path.name}.tmp")
    step("before write")
    with open(temporary, "wb") as handle:
        half = len(content) // 2
        handle.write(content[:half])
        step("inside write")
        handle.write(content[half:])
        handle.flush()
        step("before fsync")
        os.fsync(handle.fileno())
    step("before rename")
    os.replace(temporary, path)
    step("after rename")
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in this folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(content: bytes) -> str:
    """What a checkpoint is known by."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a run directory for writing; a kernel lock, so it is free again however the holder ends."""
    with open(folder / "lock", "a+", encoding="utf-8") as handle:
        try:
            _take(handle.fileno())
        except OSError as error:
            handle.seek(0)
            owner = handle.read(20).strip() or "unknown"
            raise BusyError(f"{folder}: process {owner} is writing this run; stop it first") from error
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        _held.add(handle.fileno())
        try:
            yield
        finally:
            _held.discard(handle.fileno())


def _let_go() -> None:
    # A forked worker has the lock too, and would hold it after this process has died.
    for handle in _held:
        os.close(handle)
    _held.clear()


_held: set[int] = set()
os.register_at_fork(after_in_child=_let_go)


def _take(handle: int, tries: int = 5) -> None:
    """Take the lock; somebody who only looks (`is_locked`) holds it for an instant, so try again shortly."""
    for left in range(tries, 0, -1):
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if left == 1:
                raise
            time.sleep(0.05)
    return None


def is_locked(folder: Path) -> bool:
    """Whether some process holds the run directory now."""
    try:
        with open(folder / "lock", encoding="utf-8") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except OSError:
        return True
