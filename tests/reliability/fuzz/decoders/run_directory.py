"""What lies in a run directory."""

import contextlib
import json
import sqlite3
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from flockwise.errors import FlockwiseError, RunError
from flockwise.runs.sample_shape import samples_on_record
from flockwise.store import open_run
from flockwise.store.checkpoint import read_checkpoint, state_of
from flockwise.store.client_notes import read_notes
from flockwise.store.columns import decoded
from flockwise.store.files import digest
from flockwise.store.requests import apply_requests, pending
from flockwise.store.schema import COLUMNS
from flockwise.store.summary import client_summary
from tests.reliability.fuzz.one_look import OneLook
from tests.reliability.fuzz.putting import put
from tests.reliability.fuzz.target import decoder
from tests.reliability.made import make


@cache
def whole(rounds: int) -> dict[str, bytes]:
    """The files of a small run, its database in small pages: fewer bytes in which nothing is."""
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder) / "run", rounds=rounds, clients=2)
        with contextlib.closing(sqlite3.connect(path / "run.sqlite", isolation_level=None)) as database:
            (before,) = database.execute("PRAGMA journal_mode").fetchone()
            for statement in ("PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM"):
                database.execute(statement)
            database.execute(f"PRAGMA journal_mode = {before}")
        names = ("config.toml", "environment.json", "run.sqlite")
        return {name: (path / name).read_bytes() for name in names}


LOOK, SAME = OneLook(), OneLook(remembering=True)  # the second where less than the whole database is tried
_there: dict[Path, dict[str, bytes]] = {}  # what lies in a folder; it is not written again


def placed(folder: Path, rounds: int = 2, **files: bytes) -> Path:
    """The run with some of its files replaced."""
    there = _there.setdefault(folder, {})
    new = {key.replace("_", "."): data for key, data in files.items()}
    for name, content in {**whole(rounds), **new}.items():
        if there.get(name) != content:
            if name == "run.sqlite":
                LOOK.forget()
                SAME.forget()
            put(folder / name, content)
            there[name] = content
    return folder


def look(path: Path, through: OneLook = LOOK) -> None:
    """Everything that is shown of a run."""
    with through.shared():
        run = open_run(path)
        _ = (
            run.damage,
            run.facts,
            run.events,
            run.clients,
            run.rounds,
            run.seconds,
            run.state,
            run.checkpoints,
            run.goal,
            run.times,
            run.array_names,
        )
        for name in ("truth", "attacker"):
            run.client_column(name)
        for name in ("flock", "accuracy"):
            run.array(name)
        client_summary(run)
        run.newest_checkpoint()  # last: the files are not there, which is a line of its own


@decoder("run.sqlite", lambda: [whole(2)["run.sqlite"]], quick=150)
def _(data: bytes, folder: Path) -> object:
    return look(placed(folder, run_sqlite=data))


def cells() -> list[bytes]:
    """Which column of which table (two bytes), of what type (one), and the value."""
    whole(2)
    places = [
        (table, column) for table, columns in enumerate(COLUMNS.values()) for column in range(len(columns))
    ]
    return [
        bytes([*place, kind]) + value
        for place in places
        for kind, value in enumerate((b"7", b"1.5", b"text", b"[1]"))
    ]


class Cells:
    """A whole database in which one value at a time is changed: what was changed is put back, not the file.

    Its tables have our columns without our types and keys, as a damaged definition may: anything goes in anywhere.
    """

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path / "run.sqlite", isolation_level=None)
        for setting in ("synchronous = OFF", "journal_mode = MEMORY"):
            self.database.execute(f"PRAGMA {setting}")
        self.rows = {table: self.database.execute(f"SELECT * FROM {table}").fetchall() for table in COLUMNS}
        for table, columns in COLUMNS.items():
            self.database.execute(f"DROP TABLE {table}")
            self.database.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
            self._fill(table)
        self.changed = ""

    def put(self, table: str, column: int, value: object) -> None:
        """Anything into this column of a table's first row."""
        columns = COLUMNS[table]
        first = f"rowid = (SELECT rowid FROM {table} LIMIT 1)"
        chosen = columns[column % len(columns)]
        with self.database:
            self.database.execute("BEGIN")
            if self.changed:
                self.database.execute(f"DELETE FROM {self.changed}")
                self._fill(self.changed)
                SAME.forget_table(self.changed)
            SAME.forget_table(table)
            self.changed = table
            self.database.execute(f"UPDATE {table} SET {chosen} = ? WHERE {first}", (value,))

    def _fill(self, table: str) -> None:
        holes = ", ".join("?" * len(COLUMNS[table]))
        self.database.executemany(f"INSERT INTO {table} VALUES ({holes})", self.rows[table])


_cells: dict[Path, Cells] = {}


@decoder("values in run.sqlite", cells, quick=200)
def _(data: bytes, folder: Path) -> object:
    """A whole database, with anything in one of its columns."""
    path, head, value = placed(folder), data[:3].ljust(3, b"\0"), data[3:]
    if folder not in _cells:
        _cells[folder] = Cells(path)
    kinds = (
        _number(value),
        value.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode(),
        value,
        None,
    )
    _cells[folder].put(list(COLUMNS)[head[0] % len(COLUMNS)], head[1], kinds[head[2] % 4])
    return look(path, SAME)


def _number(text: bytes) -> float | int:
    try:
        return max(-(1 << 63), min(int(text), (1 << 63) - 1))
    except ValueError:
        with contextlib.suppress(ValueError):
            return float(text)
    return float("inf")


@decoder("config.toml of a run", lambda: [whole(1)["config.toml"]], quick=300)
def _(data: bytes, folder: Path) -> object:
    path = placed(folder, 1, config_toml=data)
    with SAME.shared():
        run = open_run(path)
        run.check()
        return run.config, run.glance()


@decoder(
    "environment.json of a run",
    lambda: [whole(1)["environment.json"], b'{"samples": {"shape": [3]}}'],
    quick=300,
)
def _(data: bytes, folder: Path) -> object:
    path = placed(folder, 1, environment_json=data)
    with SAME.shared():
        run = open_run(path)
        return run.environment, run.glance(), samples_on_record(run)


def states() -> list[bytes]:
    state = {
        "round": np.array([3]), "models": np.zeros((2, 3), np.float32), "labels": np.zeros(4, np.int64),
        "apart": np.zeros(4, np.int8),
    }  # fmt: skip
    return [save(state), save({**state, "memory/updates": np.zeros((4, 3), np.float32)})]


@decoder("checkpoint", states)
def _(data: bytes, folder: Path) -> object:
    """As somebody would make one who can also write the digest beside it."""
    path = put(folder / "round-000003.safetensors", data)
    return state_of(read_checkpoint(path, digest(data)), path)


@decoder(
    "array on record",
    lambda: [b"<f4\0[2, 2]\0" + bytes(16), b"|b1\0[3]\0" + bytes(3)],
    refuses=(ValueError, RecursionError),
)
def _(data: bytes, folder: Path) -> object:
    """`Run.array` makes a line that names run, array and round of these."""
    dtype, _, rest = data.partition(b"\0")
    shape, _, content = rest.partition(b"\0")
    return decoded(dtype.decode("latin1"), shape.decode("latin1"), content)


class _Nobody:
    """A server that takes decisions as the real one does, for four clients."""

    def _take(self, client: int) -> None:
        if not 0 <= client < 4:
            raise FlockwiseError(f"client = {client}: must lie between 0 and 3")

    release = confirm = quarantine = _take


def wishes() -> list[bytes]:
    whole(1)  # made before anything is watched
    return [b'{"action": "release", "client": 1}', b'{"action": "quarantine", "client": 3}']


@decoder("request to a run", wishes, quick=300)
def _(data: bytes, folder: Path) -> object:
    path = placed(folder, 1)
    if not (path / "requests").exists():
        (path / "requests").mkdir()
    put(path / "requests" / "1.json", data)
    with SAME.shared():
        return pending(path), apply_requests(path, _Nobody())  # type: ignore[arg-type]


@decoder("notes on clients", lambda: [json.dumps([{"town": "Pau\ud800"}, {}]).encode()], refuses=(RunError,))
def _(data: bytes, folder: Path) -> object:
    notes = read_notes(data.decode("utf-8", "replace"))
    return json.dumps(notes, ensure_ascii=False).encode()  # as a table and a file take them
