"""Writing a run: one commit per round, the checkpoint and everything known of the round together."""

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import files
from flockwise.store.checkpoint import checkpoint_path, write_checkpoint
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.schema import CLIENT_COLUMNS, FORMAT, TABLES


class RunWriter:
    """The one process that may write a run directory."""

    def __init__(self, path: Path, policy: CheckpointPolicy) -> None:
        self.path = path
        self.policy = policy
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(files.lock(path))
        self._database = sqlite3.connect(path / "run.sqlite", isolation_level=None)
        self._stack.callback(self._database.close)
        # WAL with NORMAL never tears or reorders: a power cut can only take the newest rounds, which are redone.
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.executescript(TABLES)

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the directory up."""
        self._stack.close()

    def about(self, **values: str) -> None:
        """Set facts about the run as a whole, such as its state."""
        with self._transaction():
            self._database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())

    def clients(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Who takes part."""
        with self._transaction():
            marks = ", ".join("?" * len(CLIENT_COLUMNS))
            columns = [tuple(row[name] for name in CLIENT_COLUMNS) for row in rows]
            self._database.executemany(f"INSERT OR REPLACE INTO clients VALUES ({marks})", columns)

    def commit(
        self, round: int, seconds: float, facts: Mapping[str, float], arrays: Mapping[str, np.ndarray],
        events: Sequence[Event], state: Mapping[str, np.ndarray] | Callable[[], Mapping[str, np.ndarray]],
        last: bool = False,
    ) -> None:  # fmt: skip
        """Commit a round: its checkpoint first (if one is due), then everything in one transaction.

        `state` may be a function, called only if a checkpoint is due: the arrays can be a gigabyte.
        """
        name = mark = None
        if last or self.policy.due(round):
            started = time.perf_counter()
            name, mark = write_checkpoint(
                self.path / "checkpoints", round, dict(state() if callable(state) else state)
            )
            self.policy.wrote(time.perf_counter() - started)
        files.step("before commit")
        with self._transaction():
            self._database.execute(
                "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?)", (round, seconds, name, mark)
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)",
                [(round, key, _real(value)) for key, value in facts.items()],
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)",
                [
                    (round, key, array.dtype.str, json.dumps(array.shape), array.tobytes())
                    for key, array in arrays.items()
                ],
            )
            self._insert_events(round, events)
            files.step("inside commit")
        files.step("after commit")
        if name:
            self._forget_old_checkpoints(round)

    def events(self, round: int, events: Sequence[Event]) -> None:
        """Put on record what happened outside of a closed round."""
        with self._transaction():
            self._insert_events(round, events)

    def add_events(
        self, round: int, events: Sequence[Event], state: Callable[[], Mapping[str, np.ndarray]]
    ) -> None:
        """Add to the record of the last closed round, with a checkpoint of it to go on from."""
        rows = self._database.execute("SELECT seconds FROM rounds WHERE round = ?", (round,)).fetchall()
        if rows:
            self.commit(round, _real_or_zero(rows[0][0]), {}, {}, events, state, last=True)
        else:  # the very first round failed: there is no round yet to add to
            self.events(round, events)

    def any_participant(self) -> bool:
        """Whether any round had a reply that could be used."""
        query = "SELECT 1 FROM facts WHERE name = 'participants' AND value > 0 LIMIT 1"
        return bool(self._database.execute(query).fetchall())

    def first_event(self, kind: str) -> str | None:
        """What the first event of a kind says."""
        query = "SELECT client, message FROM events WHERE kind = ? ORDER BY round, id LIMIT 1"
        rows = self._database.execute(query, (kind,)).fetchall()
        return f"client {rows[0][0]}: {rows[0][1]}" if rows else None

    def _insert_events(self, round: int, events: Sequence[Event]) -> None:
        self._database.executemany(
            "INSERT INTO events (round, kind, client, message, detail) VALUES (?, ?, ?, ?, ?)",
            [(round, e.kind, e.client, e.message, json.dumps(_plain(e.detail))) for e in events],
        )

    def forget_after(self, round: int) -> None:
        """Drop the record of later rounds: they will be trained again."""
        with self._transaction():
            for table in ("rounds", "facts", "arrays", "events"):
                self._database.execute(f"DELETE FROM {table} WHERE round > ?", (round,))

    def _forget_old_checkpoints(self, round: int) -> None:
        rows = self._database.execute(
            "SELECT round, checkpoint FROM rounds WHERE checkpoint IS NOT NULL"
        ).fetchall()
        old = self.policy.droppable([r for r, _ in rows])
        if not old:
            return
        with self._transaction():
            self._database.executemany(
                "UPDATE rounds SET checkpoint = NULL, digest = NULL WHERE round = ?", [(r,) for r in old]
            )
        for r, name in rows:
            if r in old:
                with contextlib.suppress(RunError):  # not a name of ours: let it be
                    checkpoint_path(self.path / "checkpoints", name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException as error:
            if self._database.in_transaction:  # on a full disk SQLite has rolled back by itself
                self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise RunError(f"{self.path}/run.sqlite: cannot be written: {error}") from error
            raise


def create_run(
    path: Path, config: Mapping[str, Any], environment: Mapping[str, Any], policy: CheckpointPolicy
) -> RunWriter:
    """Start a new run directory; one that already holds a run is refused."""
    taken = RunError(f"{path}: already holds a run; choose another directory, or `flockwise resume {path}`")
    if (path / "config.toml").exists():
        raise taken
    try:
        (path / "checkpoints").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path}: cannot be made a run directory: {error.strerror}") from error
    writer = RunWriter(path, policy)  # from here on it is ours alone
    try:
        if (path / "config.toml").exists():
            raise taken
        files.write_atomically(path / "environment.json", json.dumps(environment, indent=2).encode())
        writer.about(
            format=str(FORMAT), created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), state="running"
        )
        # The config comes last: a directory without one holds no run, however far somebody got with it.
        files.write_atomically(path / "config.toml", tomli_w.dumps(_without_none(config)).encode())
    except BaseException:
        writer.close()
        raise
    return writer


def reopen_run(path: Path, policy: CheckpointPolicy) -> RunWriter:
    """Open an existing run directory to go on writing it."""
    if not (path / "config.toml").exists():
        raise RunError(f"{path}: no run here (no config.toml)")
    (path / "checkpoints").mkdir(exist_ok=True)
    for left in (path / "checkpoints").glob(".*.tmp"):
        left.unlink()
    writer = RunWriter(path, policy)
    writer.about(format=str(FORMAT), state="running")
    return writer


def _real(value: float) -> float | None:
    return None if value != value else float(value)


def _real_or_zero(value: object) -> float:
    return float(value) if isinstance(value, float | int) else 0.0


def _plain(value: Any) -> Any:
    """Only what JSON holds: numbers and arrays of numpy become plain ones, NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, bool | str | int) or value is None:
        return value
    number = float(value)
    return number if np.isfinite(number) else None


def _without_none(value: Any) -> Any:
    """TOML has no null: a field that is not set is left out, and is its default when read back."""
    if isinstance(value, Mapping):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_none(item) for item in value]
    return value
