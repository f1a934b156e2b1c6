"""Writing a run: one commit per round, the checkpoint and everything known of the round together."""

import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import client_notes, files
from flockwise.store.checkpoint import checkpoint_path, write_checkpoint
from flockwise.store.client_notes import called, written_notes
from flockwise.store.compact import Bases, kept
from flockwise.store.ledger import Ledger
from flockwise.store.looking import Row
from flockwise.store.policy import CheckpointPolicy
from flockwise.store.schema import BY_ROUND, CLIENT_COLUMNS, CLIENTS, COLUMNS, FORMAT, TIMES
from flockwise.store.sealing import Sealer
from flockwise.store.seals import rows_digest


class RunWriter:
    """The one process that may write a run directory."""

    def __init__(
        self, path: Path, policy: CheckpointPolicy, check: Callable[[], object] = lambda: None
    ) -> None:
        """Take the directory, then `check` that it may be written, and only then open what is in it."""
        self.path = path
        self.policy = policy
        self.names: dict[int, str] = {}  # of clients that have names of their own, as last written
        with contextlib.ExitStack() as opening:  # given up again if any of this fails
            opening.enter_context(files.lock(path))
            check()
            self._ledger = Ledger(path / "run.sqlite")
            opening.callback(self._ledger.close)
            self._sealer = Sealer(self._ledger)
            self._bases = Bases(self._ledger.rows)
            self._stack = opening.pop_all()

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the directory up."""
        self._stack.close()

    def start(self) -> None:
        """Forget what somebody left who did not get as far as a config: it is nobody's run."""
        with self._sealer.change():
            for table in COLUMNS:
                self._ledger.rows(f"DELETE FROM {table}")

    def seal_anew(self, **files: str) -> None:
        """Take the record for right as it is; `files` are the digests of those beside it."""
        with self._sealer.change():
            self._sealer.seal_all()
            self._know({**files, "format": str(FORMAT)})

    @property
    def is_sealed(self) -> bool:
        """Whether there are digests yet: an older release made none."""
        return bool(self._ledger.rows("SELECT 1 FROM about WHERE key = 'seal'"))

    def about(self, **values: str) -> None:
        """Set facts about the run as a whole, such as its state."""
        with self._sealer.change():
            self._know(values)

    def clients(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Who takes part."""
        with self._sealer.change():
            marks = ", ".join("?" * len(CLIENT_COLUMNS))
            columns = [tuple(row[name] for name in CLIENT_COLUMNS) for row in rows]
            self._ledger.each(f"INSERT OR REPLACE INTO clients VALUES ({marks})", columns)
            self._sealer.clients = None
            notes = written_notes(rows)
            if notes:
                self._know({client_notes.KEY: notes})
        self.names = {int(row["client"]): str(row["name"]) for row in rows}

    def client_columns(self, columns: Mapping[str, np.ndarray]) -> None:
        """Who takes part, as columns: for so many clients that a row each would be most of a record."""
        rows: list[Row] = [
            (0, f"{CLIENTS}{name}", *kept(column, lambda: None)) for name, column in columns.items()
        ]
        query = f"SELECT * FROM arrays WHERE round = 0 AND name LIKE '{CLIENTS}%' ORDER BY name"
        if self._ledger.rows(query) == sorted(rows):
            return  # a run that goes on: all seals hang on this
        with self._sealer.change():
            self._ledger.each("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)", rows)
            self._sealer.seal(0)

    def commit(
        self, round: int, seconds: float, facts: Mapping[str, float], arrays: Mapping[str, np.ndarray],
        events: Sequence[Event], state: Mapping[str, np.ndarray] | Callable[[], Mapping[str, np.ndarray]],
        last: bool = False, times: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Commit a round: its checkpoint first (if one is due), then everything in one transaction.

        `state` may be a function, called only if a checkpoint is due: the arrays can be a gigabyte. `times` are the
        seconds of the round by who took them.
        """
        name = mark = None
        if last or self.policy.due(round):
            started = time.perf_counter()
            name, mark = write_checkpoint(
                self.path / "checkpoints", round, state() if callable(state) else state
            )
            self.policy.wrote(time.perf_counter() - started)
        files.step("before commit")
        with self._sealer.change():
            self._ledger.rows(
                "INSERT OR REPLACE INTO rounds VALUES (?, ?, ?, ?)", (round, seconds, name, mark)
            )
            self._ledger.each(
                "INSERT OR REPLACE INTO facts VALUES (?, ?, ?)",
                [
                    (round, key, _real(value))
                    for key, value in (
                        *facts.items(),
                        *((TIMES + who, seconds) for who, seconds in (times or {}).items()),
                    )
                ],
            )
            held: list[Row] = [
                (round, key, *kept(array, self._bases.before(key, round)))
                for key, array in sorted(arrays.items())
            ]
            more = self._ledger.rows("SELECT 1 FROM arrays WHERE round = ? LIMIT 1", (round,))
            self._ledger.each("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?, ?)", held)
            self._bases.forget(arrays)
            self._insert_events(round, events)
            # Arrays may be long: if these are all, they need not be read back to be sealed.
            self._sealer.seal(round, mark, {} if more else {"arrays": rows_digest(held)})
            files.step("inside commit")
        files.step("after commit")
        if name:
            self._forget_old_checkpoints()

    def events(self, round: int, events: Sequence[Event]) -> None:
        """Put on record what happened outside of a closed round."""
        if not events:
            return
        with self._sealer.change():
            self._insert_events(round, events)
            self._sealer.seal(round)

    def add_events(
        self, round: int, events: Sequence[Event], state: Callable[[], Mapping[str, np.ndarray]]
    ) -> None:
        """Add to the record of the last closed round, with a checkpoint of it to go on from."""
        rows = self._ledger.rows("SELECT seconds FROM rounds WHERE round = ?", (round,))
        if rows:
            self.commit(round, _real_or_zero(rows[0][0]), {}, {}, events, state, last=True)
        else:  # the very first round failed: there is no round yet to add to
            self.events(round, events)

    def any_participant(self) -> bool:
        """Whether any round had a reply that could be used."""
        query = "SELECT 1 FROM facts WHERE name = 'participants' AND value > 0 LIMIT 1"
        return bool(self._ledger.rows(query))

    def first_event(self, kind: str) -> str | None:
        """What the first event of a kind says."""
        query = "SELECT client, message FROM events WHERE kind = ? ORDER BY round, id LIMIT 1"
        rows = self._ledger.rows(query, (kind,))
        return f"{called(rows[0][0], self.names.get(rows[0][0]))}: {rows[0][1]}" if rows else None

    def forget_after(self, round: int) -> None:
        """Drop the record of later rounds: they will be trained again."""
        with self._sealer.change():
            for table in BY_ROUND:
                self._ledger.rows(f"DELETE FROM {table} WHERE round > ?", (round,))

    def _insert_events(self, round: int, events: Sequence[Event]) -> None:
        self._ledger.each(
            "INSERT INTO events (round, kind, client, message, detail) VALUES (?, ?, ?, ?, ?)",
            [(round, e.kind, e.client, e.message, json.dumps(plain(e.detail))) for e in events],
        )

    def _forget_old_checkpoints(self) -> None:
        rows = self._ledger.rows("SELECT round, checkpoint FROM rounds WHERE checkpoint IS NOT NULL")
        old = self.policy.droppable([r for r, _ in rows])
        if not old:
            return
        with self._sealer.change():
            # The seal goes on knowing the digest that it was made with.
            self._ledger.each(
                "UPDATE rounds SET checkpoint = NULL, digest = NULL WHERE round = ?", [(r,) for r in old]
            )
        for r, name in rows:
            if r in old:
                with contextlib.suppress(
                    RunError, OSError
                ):  # not a name of ours, or not to be deleted: let it be
                    checkpoint_path(self.path / "checkpoints", name).unlink(missing_ok=True)

    def _know(self, values: Mapping[str, str]) -> None:
        self._ledger.each("INSERT OR REPLACE INTO about VALUES (?, ?)", values.items())


def _real(value: float) -> float | None:
    return None if value != value else float(value)


def _real_or_zero(value: object) -> float:
    return float(value) if isinstance(value, float | int) else 0.0


def plain(value: Any) -> Any:
    """Only what JSON holds: numbers and arrays of numpy become plain ones, NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, bool | str | int) or value is None:
        return value
    number = float(value)
    return number if np.isfinite(number) else None
