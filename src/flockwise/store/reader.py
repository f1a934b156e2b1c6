"""Reading a run: read-only, also while it is being written, and never a crash on a broken one."""

import json
import sqlite3
import time
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.errors import RunError
from flockwise.messages import Event
from flockwise.store import files
from flockwise.store.checkpoint import checkpoint_path, read_checkpoint
from flockwise.store.schema import CLIENT_COLUMNS, FORMAT

_PATIENCE = 60.0  # seconds that one look into the database may take


@dataclass(frozen=True)
class RecordedEvent(Event):
    """An event with the round it happened in."""

    round: int = 0


@dataclass(frozen=True)
class Newest:
    """From where a run can go on: round 0 without arrays is from the start."""

    round: int
    arrays: dict[str, np.ndarray]
    passed_over: tuple[Event, ...] = ()


class Metrics(dict[str, np.ndarray]):
    """Columns by name; a list of names selects some of them, and printing shows a table."""

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, list):
            return Metrics({"round": self["round"], **{each: self[each] for each in name}})
        return super().__getitem__(name)

    def __repr__(self) -> str:
        columns = {name: [f"{value:.4g}" for value in values] for name, values in self.items()}
        widths = {name: max(map(len, [name, *column])) for name, column in columns.items()}
        rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
        pairs = [zip(row, widths.values(), strict=True) for row in rows]
        return "\n".join("  ".join(text.rjust(width) for text, width in pair) for pair in pairs)


class Run:
    """A run directory, read-only. Metrics are read when asked for; `refresh()` looks again."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        if not (self.path / "config.toml").is_file() or not (self.path / "run.sqlite").is_file():
            raise RunError(f"{self.path}: no run here (needs config.toml and run.sqlite)")
        version = self.about.get("format", "0")
        if not version.isdigit() or int(version) > FORMAT:
            raise RunError(
                f"{self.path}: written by a newer Flockwise (format {version}); upgrade to read it"
            )

    def refresh(self) -> None:
        """Forget what was read, so that the next look is a fresh one."""
        for name in [n for n, v in vars(type(self)).items() if isinstance(v, cached_property)]:
            vars(self).pop(name, None)

    @cached_property
    def config(self) -> dict[str, Any]:
        """The full resolved config."""
        try:
            return tomllib.loads((self.path / "config.toml").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{self.path}/config.toml: cannot be read: {error}") from error

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions, machine, seed; empty if it cannot be read."""
        try:
            found = json.loads((self.path / "environment.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def about(self) -> dict[str, str]:
        """Facts about the run as a whole."""
        return {str(key): str(value) for key, value in self._rows("SELECT key, value FROM about")}

    @property
    def state(self) -> str:
        """running, finished, stopped, failed or, if its process is gone, interrupted."""
        state = self.about.get("state", "unknown")
        return "interrupted" if state == "running" and not files.is_locked(self.path) else state

    @property
    def goal(self) -> int | None:
        """The last round that was asked for: the config's, unless the run went on to another."""
        asked, planned = self.about.get("goal", ""), self.config.get("rounds")
        if asked.isdecimal() and len(asked) < 10:
            return int(asked)
        return planned if type(planned) is int else None

    @cached_property
    def clients(self) -> list[dict[str, Any]]:
        """One record per client: name, truth (or None), attacker, sample counts, address, hour, user."""
        return [
            dict(zip(CLIENT_COLUMNS, row, strict=True))
            for row in self._rows("SELECT * FROM clients ORDER BY client")
        ]

    @cached_property
    def rounds(self) -> np.ndarray:
        """The rounds on record."""
        return np.array(
            [row[0] for row in self._rows("SELECT round FROM rounds ORDER BY round")], dtype=np.int64
        )

    @cached_property
    def seconds(self) -> np.ndarray:
        """How long each round took."""
        return np.array([_real(row[0]) for row in self._rows("SELECT seconds FROM rounds ORDER BY round")])

    @cached_property
    def facts(self) -> dict[str, np.ndarray]:
        """Each number by name, one value per round on record; NaN where it was not measured."""
        place = {int(round): i for i, round in enumerate(self.rounds)}
        found: dict[str, np.ndarray] = {}
        for round, name, value in self._rows("SELECT round, name, value FROM facts"):
            column = found.setdefault(name, np.full(len(self.rounds), np.nan))
            if round in place:
                column[place[round]] = _real(value)
        return dict(sorted(found.items()))

    @property
    def metrics(self) -> Any:
        """The facts by round: a data frame where pandas is installed, else a table that is read the same way."""
        try:
            import pandas
        except ImportError:
            return Metrics({"round": self.rounds, **self.facts})
        return pandas.DataFrame(self.facts, index=pandas.Index(self.rounds, name="round"))

    @cached_property
    def events(self) -> list[RecordedEvent]:
        """Everything that happened, in order."""
        rows = self._rows("SELECT round, kind, client, message, detail FROM events ORDER BY round, id")
        return [
            RecordedEvent(kind, message, client, _json(detail), round)
            for round, kind, client, message, detail in rows
        ]

    def array(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """(rounds, values) of an array kept each round; values is (rounds, ...)."""
        rows = self._rows(
            "SELECT round, dtype, shape, data FROM arrays WHERE name = ? ORDER BY round", (name,)
        )
        arrays = [_array(dtype, shape, data) for _, dtype, shape, data in rows]
        rounds = np.array([row[0] for row in rows], dtype=np.int64)
        same = len({a.shape for a in arrays}) <= 1
        return rounds, np.stack(arrays) if arrays and same else np.array(arrays, dtype=object)

    def array_at(self, name: str, round: int) -> np.ndarray | None:
        """One round's array, if it was kept."""
        rows = self._rows("SELECT dtype, shape, data FROM arrays WHERE name = ? AND round = ?", (name, round))
        return _array(*rows[0]) if rows else None

    def kept(self, name: str) -> list[int]:
        """The rounds in which an array was kept."""
        return [
            row[0] for row in self._rows("SELECT round FROM arrays WHERE name = ? ORDER BY round", (name,))
        ]

    @cached_property
    def checkpoints(self) -> list[int]:
        """Rounds that a fork can start from."""
        return [
            r for (r,) in self._rows("SELECT round FROM rounds WHERE checkpoint IS NOT NULL ORDER BY round")
        ]

    def newest_checkpoint(self) -> "Newest":
        """The newest checkpoint that is whole; damaged ones are passed over, and told of.

        If not one can be opened at all (a folder that is gone, a disk that fails), nothing is taken for lost.
        """
        passed: list[Event] = []
        unopened: RunError | None = None
        for round, name, mark in self._rows(
            "SELECT round, checkpoint, digest FROM rounds WHERE checkpoint IS NOT NULL ORDER BY round DESC"
        ):
            try:
                arrays = read_checkpoint(checkpoint_path(self.path / "checkpoints", name), mark)
                return Newest(int(round), arrays, tuple(passed))
            except RunError as error:
                passed.append(Event("damaged", f"passed over the checkpoint of round {round}: {error}"))
                unopened = unopened or (error if isinstance(error.__cause__, OSError) else None)
        if unopened:
            raise RunError(f"{unopened}; nothing was changed")
        return Newest(0, {}, tuple(passed))

    def checkpoint(self, round: int | None = None) -> dict[str, np.ndarray]:
        """The server's state after a round (the newest by default)."""
        rows = self._rows(
            "SELECT round, checkpoint, digest FROM rounds WHERE checkpoint IS NOT NULL ORDER BY round DESC"
        )
        for at, name, mark in rows:
            if round is None or at == round:
                return read_checkpoint(checkpoint_path(self.path / "checkpoints", name), mark)
        kept = ", ".join(map(str, self.checkpoints)) or "none"
        raise RunError(
            f"{self.path}: no checkpoint of round {round}; kept are {kept}. Set checkpoint.at to keep more"
        )

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            database = sqlite3.connect(
                f"{(self.path / 'run.sqlite').resolve().as_uri()}?mode=ro", uri=True, timeout=5
            )
            try:
                # A file made to be endless to read ends here.
                deadline = time.monotonic() + _PATIENCE
                database.set_progress_handler(lambda: time.monotonic() > deadline, 1_000_000)
                return database.execute(query, values).fetchall()
            finally:
                database.close()
        except sqlite3.Error as error:
            raise RunError(f"{self.path}/run.sqlite: cannot be read: {error}") from error


def open_run(path: str | Path) -> Run:
    """Open a run directory for reading."""
    return Run(Path(path))


def list_runs(folder: str | Path) -> list[tuple[Path, Run | RunError]]:
    """Every run directory below a folder; a broken one comes with its error instead."""
    found: list[tuple[Path, Run | RunError]] = []
    for config in sorted(Path(folder).glob("*/config.toml")):
        try:
            run = Run(config.parent)
            _ = run.config  # a broken one is told of here, not when somebody looks at it
            found.append((config.parent, run))
        except RunError as error:
            found.append((config.parent, error))
    return found


def _real(value: object) -> float:
    """A number from the database, which takes anything in any column."""
    return float(value) if isinstance(value, float | int) else float("nan")


def _array(dtype: str, shape: str, data: bytes) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise RunError(f"array of dtype {dtype}: refused")
    return np.frombuffer(data, dtype=kind).reshape(json.loads(shape))


def _json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
