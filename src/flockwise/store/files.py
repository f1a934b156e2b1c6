"""Every write to disk goes through here, so that there is one place to reason about, and to make fail."""

import contextlib
import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from flockwise.errors import BusyError, RunError

step: Callable[[str], None] = lambda name: None  # noqa: E731  a test replaces this to fail or die at a named step


def write_atomically(
    path: Path, content: bytes | Iterable[bytes | memoryview], private: bool = False
) -> None:
    """The file holds all of the content or what it held before, whatever happens in between.

    The content may come in parts, so that it need not be in memory as a whole. A private file is for its owner's eyes
    alone.
    """
    # A name nobody can guess: what lies there already may be another's file, or point to one.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    step("before write")
    try:
        handle = os.open(
            temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600 if private else 0o666
        )
    except OSError as error:  # told by the name that somebody knows
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with open(handle, "wb") as file:
            half = len(content) // 2 if isinstance(content, bytes) else 0
            for number, part in enumerate(
                [content[:half], content[half:]] if isinstance(content, bytes) else content
            ):
                if number == 1:
                    step("inside write")
                file.write(part)
            file.flush()
            step("before fsync")
            os.fsync(file.fileno())
        step("before rename")
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):  # a full disk is not filled with halves
            temporary.unlink(missing_ok=True)
        raise
    step("after rename")
    sync_folder(path.parent)


def write_private(path: Path, content: bytes | Iterable[bytes | memoryview]) -> None:
    """Write a file of a run: for its owner's eyes alone, and one line that names it if that fails."""
    try:
        write_atomically(path, content, private=True)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error


def make_private(folder: Path) -> None:
    """Make a folder, with those above it, that only its owner can look into; one that is there stays as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise


def read_limited(path: Path, most: int) -> bytes:
    """A file's content; an OSError if it is longer than this, or is no file at all."""
    with open(_opened(path, os.O_RDONLY), "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(f"is longer than {most:,} bytes")
        return file.read(most)


def read_verified(path: Path, expected: object) -> bytes | None:
    """The content of a file with this digest, which is found before it is read into memory; None for any other."""
    with open(_opened(path, os.O_RDONLY), "rb") as file:
        if hashlib.file_digest(file, new_digest).hexdigest() != expected:
            return None
        file.seek(0)
        content = file.read()
    return content if digest(content) == expected else None


@contextlib.contextmanager
def opened_verified(path: Path, expected: object) -> Iterator[tuple[BinaryIO, int] | None]:
    """A file with this digest, opened at its beginning, and its size; None for any other.

    What is read from it is what was verified, unless its owner writes to it at this moment.
    """
    with open(_opened(path, os.O_RDONLY), "rb") as file:
        if hashlib.file_digest(file, new_digest).hexdigest() != expected:
            yield None
            return
        file.seek(0)
        yield file, os.fstat(file.fileno()).st_size


def told_parts(parts: Iterable[bytes | memoryview], mark: "hashlib.blake2b") -> Iterator[bytes | memoryview]:
    """The same parts, each added to a digest as it passes."""
    for part in parts:
        mark.update(part)
        yield part


def sync_folder(folder: Path) -> None:
    """Make renames in this folder last."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(content: bytes) -> str:
    """What a file of a run is known by."""
    mark = new_digest()
    mark.update(content)
    return mark.hexdigest()


def new_digest() -> "hashlib.blake2b":
    """What a file of a run is known by, before anything is added to it."""
    return hashlib.blake2b(digest_size=32)


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Hold a run directory for writing; a kernel lock, so it is free again however the holder ends."""
    try:
        opened = _opened(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW)
    except OSError as error:
        raise RunError(f"{folder}/lock: cannot be opened: {error.strerror or error}") from error
    with open(opened, "r+", encoding="utf-8", errors="replace") as handle:
        try:
            _take(handle.fileno())
        except OSError as error:
            owner = handle.read(20).strip() or "unknown"
            raise BusyError(f"{folder}: process {owner} is writing this run; stop it first") from error
        try:
            handle.truncate(0)
            handle.write(str(os.getpid()))
            handle.flush()
        except OSError as error:
            raise RunError(f"{folder}/lock: cannot be written: {error.strerror}") from error
        _held.add(handle.fileno())
        try:
            yield
        finally:
            _held.discard(handle.fileno())


def _opened(path: Path, flags: int) -> int:
    """Open what is a file; a pipe would make us wait for ever, a device may have no end."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("is not a file")
    return handle


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
        handle = _opened(folder / "lock", os.O_RDONLY)
    except PermissionError:
        return True
    except OSError:
        return False  # nobody can hold what is not there, or is no file
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(handle)
