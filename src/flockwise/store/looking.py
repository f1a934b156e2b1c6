"""Looking into a database that may be anybody's: only our tables, so many rows, so many bytes, so much time."""

import contextlib
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from flockwise.errors import RunError
from flockwise.store.schema import COLUMNS

Row = tuple[Any, ...]
PATIENCE = 20.0  # seconds that one look may take
_OFTEN = 100_000  # steps of the database between two looks at the clock


class NotOurs(Exception):
    """Something that no run of ours has."""


class Most(NamedTuple):
    """How much of a table is read before it is taken for an attack; far above what real runs hold."""

    rows: int
    one: int  # bytes of a row
    all: int  # bytes of all rows


MOST = {
    "about": Most(10_000, 32 << 20, 64 << 20),
    "clients": Most(2_000_000, 1 << 20, 256 << 20),
    "rounds": Most(2_000_000, 1 << 16, 256 << 20),
    "facts": Most(10_000_000, 1 << 12, 512 << 20),
    "arrays": Most(5_000_000, 1_000_000_000, 2 << 30),
    "events": Most(2_000_000, 16 << 20, 128 << 20),
    "seals": Most(2_000_000, 1 << 16, 512 << 20),
}


@contextlib.contextmanager
def looking(file: Path, patience: float = PATIENCE) -> Iterator[sqlite3.Connection]:
    """A connection that can only read, for as long as our patience lasts; what goes wrong is a RunError."""
    try:
        with contextlib.closing(_connected(file, patience)) as database:
            _only_our_tables(database)
            database.execute("BEGIN")  # one moment of the run, however long the look takes
            yield database
    except sqlite3.Error as error:
        slow = isinstance(error, sqlite3.OperationalError) and str(error) == "interrupted"
        told = " ".join(str(error).split())[:200]  # it quotes what is written in place of a definition
        why = f"takes longer than {patience:.0f} s: not a run of ours, or a slow disk" if slow else told
        raise RunError(f"{file}: cannot be read: {why}") from error
    except OSError as error:
        raise RunError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, MemoryError) as error:  # of what is said in the place of a table's definition
        raise RunError(f"{file}: cannot be read: damaged ({type(error).__name__})") from error
    except NotOurs as error:
        raise RunError(f"{file}: not the database of a run: {error}") from error


def read(
    database: sqlite3.Connection, table: str, query: str, values: Row = (), whole: bool = True
) -> Iterator[Row]:
    """The rows of a query on one table; if the `whole` is to be kept in memory, no more than `MOST` says."""
    most = MOST[table]
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most.one)
    size = 0
    for number, row in enumerate(database.execute(query, values)):
        if whole:
            size += sum(len(value) for value in row if isinstance(value, str | bytes))
            if number >= most.rows or size > most.all:
                raise NotOurs(f"{table} holds more than {most.rows:,} rows or {most.all >> 20:,} MB")
        yield row


def _connected(file: Path, patience: float) -> sqlite3.Connection:
    for each in (file, *(file.with_name(file.name + end) for end in ("-wal", "-shm", "-journal"))):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(each.stat().st_mode):  # opening a pipe would never end
                raise RunError(f"{each}: is not a file")
    database = sqlite3.connect(
        f"{file.resolve().as_uri()}?mode=ro", uri=True, timeout=5, isolation_level=None
    )
    try:
        _end_after(database, patience)
        database.text_factory = _text
        for setting in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            database.execute(f"PRAGMA {setting}")
    except BaseException:
        database.close()
        raise
    return database


def _end_after(database: sqlite3.Connection, patience: float) -> None:
    deadline = time.monotonic() + patience
    database.set_progress_handler(lambda: time.monotonic() > deadline, _OFTEN)


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _only_our_tables(database: sqlite3.Connection) -> None:
    """A view, a virtual table or a column that is worked out would run whatever its maker likes."""
    names = ", ".join(f"'{name}'" for name in COLUMNS)
    query = f"SELECT name, type, rootpage FROM sqlite_master WHERE name COLLATE NOCASE IN ({names})"
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
    found = {}
    for name, kind, page in database.execute(query):
        if kind != "table" or not page:
            raise NotOurs(f"{str(name)[:20]} is not a plain table")
        found[name] = True
    for name, wanted in COLUMNS.items():
        if name not in found:
            if name == "seals":  # runs of format 1 have none
                continue
            raise NotOurs(f"{name} is missing")
        columns = database.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (name,)).fetchall()
        if [column for column, hidden in columns if not hidden] != list(wanted) or len(columns) != len(
            wanted
        ):
            raise NotOurs(f"{name} has other columns than ours")
