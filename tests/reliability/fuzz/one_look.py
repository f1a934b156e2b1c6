"""One look into a database for all that is asked of it: opening and checking it anew is most of what an input costs.

A run's reader opens its database for every table. As long as nobody writes the file, each of these looks finds the same
bytes, so one connection, with the checks that come with it, stands for all of them. Where only other files of the run are
tried, what it answers is kept, too.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from flockwise.store import looking

_connected, _only_our_tables, _end_after = looking._connected, looking._only_our_tables, looking._end_after


class _Kept:
    """A connection that is still there when a look has closed it."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database, self.checked = database, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def close(self) -> None:
        """The end of one look: no deadline of its own may keep a transaction open, and the file locked."""
        self.database.set_progress_handler(None, 0)
        if self.database.in_transaction:
            self.database.execute("ROLLBACK")


class _Answer:
    """Rows that were read before."""

    def __init__(self, rows: list[Any]) -> None:
        self.fetchall = rows.copy
        self.fetchone = lambda: rows[0] if rows else None
        self._rows = rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


class _Remembering(_Kept):
    """A connection that asks each question once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        super().__init__(database)
        self.answers: dict[Any, _Answer] = {}

    def execute(self, query: str, values: tuple[Any, ...] = ()) -> _Answer:
        """As it was answered the first time."""
        if query == "BEGIN":  # there is nothing to be kept apart from
            return _Answer([])
        if (query, values) not in self.answers:
            self.answers[query, values] = _Answer(self.database.execute(query, values).fetchall())
        return self.answers[query, values]

    def forget_table(self, name: str) -> None:
        """What was asked of this table was changed; what others answer was not."""
        self.answers = {asked: answer for asked, answer in self.answers.items() if name not in asked[0]}


class OneLook:
    """The connections that are kept, by file; `remembering` also their answers."""

    def __init__(self, remembering: bool = False) -> None:
        self._kept: dict[Path, _Kept] = {}
        self._kind = _Remembering if remembering else _Kept

    def __call__(self, file: Path, patience: float) -> _Kept:
        """In place of opening the database."""
        if file not in self._kept:
            self._kept[file] = self._kind(_connected(file, patience))
        _end_after(self._kept[file].database, patience)  # each look has its own, however old the connection
        return self._kept[file]

    def forget_table(self, name: str) -> None:
        """A table was written, by somebody who leaves the others and its definition as they are."""
        for kept in self._kept.values():
            if isinstance(kept, _Remembering):
                kept.forget_table(name)

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
