"""The database of a run, opened to write. Whatever fails in it is one line that names the file."""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flockwise.errors import RunError
from flockwise.store.looking import Row
from flockwise.store.schema import TABLES


class Ledger:
    """A connection that writes, one transaction at a time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._told():
            _make_private(file)
            self._database = sqlite3.connect(file, isolation_level=None)
        try:
            with self._told():
                # WAL with NORMAL never tears or reorders: a power cut can only take the newest rounds, which are redone.
                self._database.execute("PRAGMA journal_mode=WAL")
                self._database.execute("PRAGMA synchronous=NORMAL")
                self._database.execute("PRAGMA trusted_schema=OFF")
                self._database.executescript(TABLES)
        except BaseException:
            self._database.close()
            raise

    def rows(self, query: str, values: Row = ()) -> list[Row]:
        """What a query or a statement gives."""
        with self._told():
            return self._database.execute(query, values).fetchall()

    def each(self, statement: str, rows: Iterable[Row]) -> None:
        """Carry a statement out for each of these."""
        with self._told():
            self._database.executemany(statement, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is done inside, or nothing."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
            self.rows("COMMIT")
        except BaseException:
            # On a full disk SQLite has rolled back by itself; where it cannot now, it will when next opened.
            with contextlib.suppress(sqlite3.Error):
                if self._database.in_transaction:
                    self._database.rollback()
            raise

    def close(self) -> None:
        """Give the file up."""
        with contextlib.suppress(sqlite3.Error):  # what is committed stays, merged or not
            self._database.close()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            why: Any = getattr(error, "strerror", None) or error
            raise RunError(f"{self._file}: cannot be written: {why}") from error


def _make_private(file: Path) -> None:
    """SQLite makes what is missing as open as the umask says, and its journals as open as the file."""
    # One that is there is not opened here: closing it would take SQLite's own locks away.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
