"""Whether a run is as it was written: its config and environment, and all that is on record."""

import math
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from flockwise.errors import RunError
from flockwise.store.checkpoint import checkpoint_name
from flockwise.store.files import digest, read_limited
from flockwise.store.looking import NotOurs, looking, read
from flockwise.store.seals import CLIENTS, NOTHING, RECORD, round_seal, rows_digest, whole_seal

DIGESTS = {"config.toml": "config_digest", "environment.json": "environment_digest"}  # under which names
MOST_FILE = 4 << 20  # bytes of either
MOST_NAMED = 3  # damaged rounds that are named


def find_damage(path: Path, rounds: bool = True, patience: float = 60.0) -> list[str]:
    """What of a run is not as it was written, a line each; without `rounds`, only what is quickly looked at."""
    try:
        with looking(path / "run.sqlite", patience) as database:
            about = {
                str(key): str(value) for key, value in read(database, "about", "SELECT key, value FROM about")
            }
            seals = _seals(database)
            if not seals and "seal" not in about and about.get("format") == "1":
                return []  # made before there were digests
            found = [line for name, key in DIGESTS.items() for line in _changed(path / name, about.get(key))]
            last = seals[max(seals)][1] if seals else ""
            if about.get("seal") != whole_seal(
                about, rows_digest(read(database, "clients", CLIENTS, whole=False)), last
            ):
                found.append("run.sqlite: what it says about the run and its clients is not what was written")
            return found + (_structure(database) + _damaged_rounds(database, seals) if rounds else [])
    except RunError as error:
        return [str(error).replace(f"{path}/", "")]


def refuse_damage(path: Path) -> None:
    """Refuse to go on from a run that is damaged, in one line that says what is, and what can be done."""
    found = find_damage(path, patience=math.inf)  # a run of ours may be large, and it is ours to wait for
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise RunError(
            f"{path}/{found[0]}{more}; put back what was there or, if it is right as it is, have it taken so: "
            f'python -c "import flockwise.store as s; s.accept({str(path)!r})"'
        )


def file_digest(file: Path) -> str:
    """The digest of a file beside the database; one that is not there has one too."""
    try:
        return digest(read_limited(file, MOST_FILE))
    except FileNotFoundError:
        return "not there"


def _changed(file: Path, expected: str | None) -> Iterator[str]:
    if expected is None:
        yield f"run.sqlite: the digest of {file.name} is gone"
        return
    try:
        found = file_digest(file)
    except OSError as error:
        yield f"{file.name}: cannot be read: {error.strerror or error}"
        return
    if found != expected:
        gone = "is gone" if found == "not there" else "is not what was written when the run was made"
        yield f"{file.name}: {gone}"


def _structure(database: sqlite3.Connection) -> list[str]:
    """Pages and indices that contradict each other would show other rows to other questions."""
    found = str(database.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return [] if found == "ok" else [f"run.sqlite: is damaged: {found.splitlines()[0][:200]}"]


def _seals(database: sqlite3.Connection) -> dict[int, tuple[Any, str]]:
    known = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'seals'").fetchall()
    rows = read(database, "seals", "SELECT round, checkpoint, seal FROM seals") if known else ()
    seals = {}
    for round, checkpoint, seal in rows:
        if not isinstance(round, int):
            raise NotOurs(f"a seal is of round {str(round)[:20]!r}")
        seals[round] = (checkpoint, str(seal))
    return seals


def _damaged_rounds(database: sqlite3.Connection, seals: Mapping[int, tuple[Any, str]]) -> list[str]:
    """The rounds whose record does not give their seal; each is held against the seal before it, so one damage is one."""
    records: list[dict[Any, str]] = []
    damaged: set[Any] = set()
    for table, query in RECORD.items():
        records.append({})
        for round, rows in groupby(
            read(database, table, query.format(""), whole=False), key=lambda row: row[0]
        ):
            if round in seals:
                records[-1][round] = rows_digest(rows)
            else:
                damaged.add(round)
            if len(damaged) > 1000:  # enough is known
                break
    before = ""
    for round in sorted(seals):
        checkpoint, seal = seals[round]
        if round_seal(before, round, checkpoint, [record.get(round, NOTHING) for record in records]) != seal:
            damaged.add(round)
        before = seal
    query = "SELECT round, checkpoint, digest FROM rounds WHERE checkpoint NOTNULL OR digest NOTNULL"
    for round, name, mark in read(database, "rounds", query):
        known = isinstance(round, int) and round in seals
        if not known or (name, mark) != (checkpoint_name(round), seals[round][0]):
            damaged.add(round)
    names = sorted(str(round)[:20] for round in damaged)
    told = [f"run.sqlite: the record of round {name} is not what was written" for name in names[:MOST_NAMED]]
    more = len(names) - MOST_NAMED
    return [*told, f"run.sqlite: nor are those of {more} more rounds"] if more > 0 else told
