"""The folder that compiled libraries are kept in and loaded from: ours alone, or not used.

What is loaded runs with all our rights, so nothing is loaded that somebody else could have written: the folder and
each library must belong to this user, be writable by nobody else and be no link. A library's name holds the
digest of its content, and what is loaded is the very file that was looked at.
"""

import contextlib
import ctypes
import hashlib
import os
import stat
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Refused(Exception):
    """The folder cannot be trusted; in one line, with what to do."""


def cache_directory() -> Path:
    """The user's cache; a relative XDG_CACHE_HOME means nothing (its specification says so). RuntimeError without a home."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(root):
        return Path(root) / "flockwise" / "native"
    home = Path.home()
    if not home.is_absolute():
        raise RuntimeError("the home directory is not an absolute path")
    return home / ".cache" / "flockwise" / "native"


class Cache:
    """The folder, held open: what is looked at and what is used are the same, whoever renames what."""

    def __init__(self, path: Path) -> None:
        """Make the folder, or take one that is ours; an OSError if it cannot be had, `Refused` if not to be trusted."""
        self.path = path
        for folder in reversed([path, *path.parents]):
            with contextlib.suppress(
                FileExistsError, PermissionError
            ):  # what is missing then is told of below
                folder.mkdir(mode=0o700)
        if path.is_symlink():
            raise Refused(f"{path}: is a link, which kernels are not loaded through; delete it")
        self._folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self._make_sure()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._folder)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_sure(self) -> None:
        found = os.fstat(self._folder)
        if found.st_uid != os.geteuid():
            raise Refused(
                f"{self.path}: belongs to another user ({found.st_uid}), so no kernels are loaded from it; delete it, or "
                "set XDG_CACHE_HOME to a folder of your own"
            )
        if found.st_mode & _OTHERS:
            # Others could have put anything there: from now on they cannot, and what is there is made anew.
            os.fchmod(self._folder, 0o700)
            for name in os.listdir(self._folder):
                self.remove(name)

    def load(self, stem: str) -> ctypes.CDLL | None:
        """The library kept under this stem. One that is not as it was left is removed, for it could do anything."""
        for name in sorted(os.listdir(self._folder)):
            if name.startswith(f"{stem}-") and name.endswith(".so"):
                handle = self._open(name, stem)
                if handle is not None:
                    return _loaded(handle, self.path / name)
                self.remove(name)
        return None

    def put(self, file: Path, stem: str) -> None:
        """Keep a library that was just made."""
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as made:
            os.fchmod(made.fileno(), 0o600)
            name = library_name(stem, made.read())
        os.replace(file, name, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        """Take a file out, as far as it can be."""
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._folder)

    def _open(self, name: str, stem: str) -> int | None:
        """A file that is ours alone and what its name says, or nothing."""
        try:
            handle = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder
            )
        except OSError:
            return None
        found = os.fstat(handle)
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
        if ours:
            with open(os.dup(handle), "rb") as file:
                ours = name == library_name(stem, file.read())
        if not ours:
            os.close(handle)
            return None
        return handle


def library_name(stem: str, content: bytes) -> str:
    """What a library is called: what it was made from, and what it is."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()}.so"


def _loaded(handle: int, path: Path) -> ctypes.CDLL:
    """Load an open file. It stays open: the loader takes a number that is used again for the library it knows by it."""
    itself = f"/proc/self/fd/{handle}"
    try:
        return ctypes.CDLL(itself if os.path.exists(itself) else str(path))
    except OSError:
        os.close(handle)
        raise
