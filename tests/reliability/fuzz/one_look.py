"""One look into a database for all that is asked of it: opening and checking it anew is most of what an input costs.

A run's reader opens its database for every table. As long as nobody writes the file, each of these looks finds the same
bytes, so one connection, with the checks that come with it, stands for all of them.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from flockwise.store import looking

_connected, _only_our_tables = looking._connected, looking._only_our_tables


class _Kept:
    """A connection that is still there when a look has closed it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database, self.checked = database, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def close(self) -> None:
        """The end of one look."""
        if self.database.in_transaction:
            self.database.execute("ROLLBACK")


class OneLook:
    """The connections that are kept, by file."""

    def __init__(self) -> None:
        self._kept: dict[Path, _Kept] = {}

    def __call__(self, file: Path, patience: float) -> _Kept:
        """In place of opening the database."""
        if file not in self._kept:
            self._kept[file] = _Kept(_connected(file, patience))
        return self._kept[file]

    def forget(self) -> None:
        """A file was written: look again."""
        for kept in self._kept.values():
            kept.database.close()
        self._kept.clear()

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """All looks in here share what is kept."""
        with mock.patch.multiple(looking, _connected=self, _only_our_tables=self._checked_once):
            yield

    @staticmethod
    def _checked_once(database: Any) -> None:
        if not database.checked:
            _only_our_tables(database)
            database.checked = True
