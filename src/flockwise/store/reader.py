"""Reading a run: read-only, also while it is being written, and never a crash on a broken one."""

import math
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.errors import InputError, RunError
from flockwise.messages import Event
from flockwise.plugins import nearest
from flockwise.scoring import Scoring, read_scoring
from flockwise.store import client_notes, files
from flockwise.store.checkpoint import checkpoint_path, read_checkpoint
from flockwise.store.client_notes import called, read_notes
from flockwise.store.client_table import ClientTable, listed
from flockwise.store.columns import all_honest, client_of, decoded, events_of, fact_columns, number
from flockwise.store.compact import is_whole
from flockwise.store.damage import MOST_FILE, find_damage
from flockwise.store.json_text import loaded
from flockwise.store.looking import Row, looking, read
from flockwise.store.schema import CLIENT_COLUMNS, CLIENTS, FORMAT, KNOWN_ARRAYS, TIMES

_OF_A_ROUND = "typeof(round) = 'integer'"  # a column takes anything
_CHECKPOINTS = (
    f"SELECT round, checkpoint, digest FROM rounds WHERE checkpoint IS NOT NULL AND {_OF_A_ROUND} "
    "ORDER BY round DESC"
)


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
        if not re.fullmatch("[0-9]{1,6}", version) or int(version) > FORMAT:
            raise RunError(
                f"{self.path}: written by a newer Flockwise (format {version[:20]!r}); upgrade to read it"
            )

    def refresh(self) -> None:
        """Forget what was read, so that the next look is a fresh one."""
        for name in [n for n, v in vars(type(self)).items() if isinstance(v, cached_property)]:
            vars(self).pop(name, None)

    def check(self) -> None:
        """Read what a list of runs shows; a RunError if that cannot be."""
        _ = self.rounds, self.seconds, self.facts, self.clients
        for section in ("strategy", "data"):
            if not isinstance(self.config.get(section, {}), dict):
                raise RunError(f"{self.path}/config.toml: cannot be read: {section} is not a section")

    @cached_property
    def config(self) -> dict[str, Any]:
        """The full resolved config."""
        try:
            return tomllib.loads(files.read_limited(self.path / "config.toml", MOST_FILE).decode())
        except (OSError, ValueError, RecursionError) as error:
            why = getattr(error, "strerror", None) or str(error).splitlines()[0]
            raise RunError(f"{self.path}/config.toml: cannot be read: {why}") from error

    @property
    def title(self) -> str:
        """What it is called: as its config says, or as its directory, where that says nothing."""
        said = str(self.config.get("name", "run"))
        return said if said != "run" else self.path.resolve().name

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Versions, machine, seed; empty if it cannot be read."""
        try:
            found = loaded(files.read_limited(self.path / "environment.json", MOST_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def about(self) -> dict[str, str]:
        """Facts about the run as a whole."""
        return {str(key): str(value) for key, value in self._rows("about", "SELECT key, value FROM about")}

    @cached_property
    def damage(self) -> list[str]:
        """What is not as it was written, a line each: config, environment, the record of a round. Reads all of it."""
        return find_damage(self.path)

    def glance(self) -> list[str]:
        """The same, but of the record of rounds, which takes longest."""
        return find_damage(self.path, rounds=False)

    @property
    def scoring(self) -> Scoring:
        """What the run's task compares models by: the name of a fact, and which way is better."""
        return read_scoring(self.about.get("scoring", ""))

    @property
    def state(self) -> str:
        """running, finished, stopped, failed or, if its process is gone, interrupted."""
        state = self.about.get("state", "unknown")
        return "interrupted" if state == "running" and not files.is_locked(self.path) else state

    @property
    def parent(self) -> tuple[str, int] | None:
        """The run that this one was forked or continued from, and after which of its rounds."""
        path = self.environment.get("parent")
        at = self.environment.get("continued_at", self.environment.get("forked_at"))
        return (path, at) if isinstance(path, str) and type(at) is int else None

    @property
    def goal(self) -> int | None:
        """The last round that was asked for: the config's, unless the run went on to another."""
        asked, planned = self.about.get("goal", ""), self.config.get("rounds")
        if asked.isdecimal() and len(asked) < 10:
            return int(asked)
        return planned if type(planned) is int else None

    @cached_property
    def clients(self) -> Sequence[dict[str, Any]]:
        """One record per client: name, truth (or None), attacker, sample counts, address, hour, user, about."""
        if self._client_columns:
            return ClientTable(self._client_columns)
        columns = ", ".join(CLIENT_COLUMNS)
        query = f"SELECT {columns} FROM clients WHERE typeof(client) = 'integer' ORDER BY client"
        rows = self._rows("clients", query)
        notes = read_notes(self.about.get(client_notes.KEY, ""))
        notes += [{} for _ in range(len(rows) - len(notes))]
        return [{**client_of(row), "about": note} for row, note in zip(rows, notes, strict=False)]

    @cached_property
    def _client_columns(self) -> dict[str, np.ndarray]:
        """The table of very many clients, column by column; empty where there is a row for each."""
        query = (
            "SELECT round, name, dtype, shape, data FROM arrays WHERE round = 0 AND name LIKE ? ORDER BY name"
        )
        rows = self._rows("arrays", query, (f"{CLIENTS}%",))
        return {
            str(name).removeprefix(CLIENTS): self._column(str(name), self._decoded(str(name), round, *kept))
            for round, name, *kept in rows
        }

    def _column(self, name: str, values: np.ndarray) -> np.ndarray:
        if values.ndim != 1 or values.dtype.kind not in "iub":
            raise RunError(
                f"{self.path}/run.sqlite: the array {name!r} of round 0 is damaged: "
                f"{values.dtype} {values.shape} is no column of whole numbers"
            )
        return values

    def client_column(self, name: str) -> np.ndarray:
        """One column of the table of clients as an array: `truth` is -1 where nobody knows it."""
        if self._client_columns:
            return self._client_columns[name]
        return listed(self.clients, name)

    def client_number(self, said: int | str) -> int:
        """The number of a client that is said by its name or its number; a name comes first."""
        if not isinstance(said, str):
            return int(said)
        names = {str(row["name"]): int(row["client"]) for row in self.clients}
        if said in names:
            return names[said]
        if not said.isdecimal() or len(said) > 9:
            raise InputError(f"{said}: no client is called so; {nearest(said, list(names)[:50])}")
        return int(said)

    def called(self, client: int) -> str:
        """A client in a sentence: its name, if it has one, and its number."""
        if self._client_columns:
            return called(client, None)
        names = {each["client"]: each["name"] for each in self.clients}
        return called(client, names.get(client))

    @cached_property
    def rounds(self) -> np.ndarray:
        """The rounds on record."""
        return np.array(list(self._seconds_of_rounds), dtype=np.int64)

    @cached_property
    def seconds(self) -> np.ndarray:
        """How long each round took."""
        return np.array([number(value) for value in self._seconds_of_rounds.values()])

    @cached_property
    def _seconds_of_rounds(self) -> dict[int, object]:
        """One look for both, as a round may be added between two; a damaged table has rows of no round, or two of one."""
        query = f"SELECT round, seconds FROM rounds WHERE {_OF_A_ROUND} ORDER BY round"
        return dict(sorted(self._rows("rounds", query), key=lambda row: row[0]))

    @cached_property
    def facts(self) -> dict[str, np.ndarray]:
        """Each number by name, one value per round on record; NaN where it was not measured."""
        found = self._by_round
        return all_honest({name: column for name, column in found.items() if not name.startswith(TIMES)})

    @property
    def times(self) -> dict[str, np.ndarray]:
        """Seconds of each round by who took them, `clients` or `server`; empty for runs of older releases."""
        found = self._by_round
        return {name[len(TIMES) :]: column for name, column in found.items() if name.startswith(TIMES)}

    @cached_property
    def _by_round(self) -> dict[str, np.ndarray]:
        place = {int(round): i for i, round in enumerate(self.rounds)}
        with looking(self.path / "run.sqlite") as database:
            rows = read(database, "facts", "SELECT round, name, value FROM facts", whole=False)
            return fact_columns(place, rows)

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
        query = "SELECT round, kind, client, message, detail FROM events ORDER BY round, id"
        return [RecordedEvent(*parts) for parts in events_of(self._rows("events", query))]

    def array(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """(rounds, values) of an array kept each round; values is (rounds, ...)."""
        query = (
            f"SELECT round, dtype, shape, data FROM arrays WHERE name = ? AND {_OF_A_ROUND} ORDER BY round"
        )
        rows = self._rows("arrays", query, (name,))
        if not rows and name not in KNOWN_ARRAYS and name != self.scoring.name:
            kept = self._rows("arrays", "SELECT DISTINCT name FROM arrays ORDER BY name LIMIT 100")
            there = ", ".join(str(row[0]) for row in kept) or "none"
            raise InputError(f"name = {name!r}: no such array; this run has {there}")
        bases: dict[int, np.ndarray] = {}
        arrays = [self._decoded(name, *row, bases=bases) for row in rows]
        rounds = np.array([row[0] for row in rows], dtype=np.int64)
        if arrays and len({a.shape for a in arrays}) == 1:
            return rounds, np.stack(arrays)
        different = np.empty(len(arrays), dtype=object)
        for place, array in enumerate(arrays):  # all at once, numpy would try to make one array of them
            different[place] = array
        return rounds, different

    def array_at(self, name: str, round: int) -> np.ndarray | None:
        """One round's array, if it was kept."""
        query = "SELECT round, dtype, shape, data FROM arrays WHERE name = ? AND round = ?"
        rows = self._rows("arrays", query, (name, round))
        return self._decoded(name, *rows[0]) if rows else None

    def each(self, name: str) -> Iterator[tuple[int, np.ndarray]]:
        """The rounds in which an array was kept, one after the other: all of them may be more than memory holds."""
        bases: dict[int, np.ndarray] = {}
        query = (
            f"SELECT round, dtype, shape, data FROM arrays WHERE name = ? AND {_OF_A_ROUND} ORDER BY round"
        )
        with looking(self.path / "run.sqlite", math.inf) as database:
            for row in read(database, "arrays", query, (name,), whole=False):
                found = self._decoded(name, *row, bases=bases)
                bases = {row[0]: found} if is_whole(row[1]) else bases
                yield row[0], found

    @cached_property
    def array_names(self) -> list[str]:
        """The arrays that were kept in any round."""
        query = f"SELECT DISTINCT name FROM arrays WHERE round > 0 AND {_OF_A_ROUND} ORDER BY name"
        return [str(name) for (name,) in self._rows("arrays", query)]

    def kept(self, name: str) -> list[int]:
        """The rounds in which an array was kept."""
        query = f"SELECT round FROM arrays WHERE name = ? AND {_OF_A_ROUND} ORDER BY round"
        return [row[0] for row in self._rows("arrays", query, (name,))]

    @cached_property
    def checkpoints(self) -> list[int]:
        """Rounds that a fork can start from."""
        return sorted({round for round, *_ in self._rows("rounds", _CHECKPOINTS)})

    def newest_checkpoint(self) -> "Newest":
        """The newest checkpoint that is whole; damaged ones are passed over, and told of.

        If not one can be opened at all (a folder that is gone, a disk that fails), nothing is taken for lost.
        """
        passed: list[Event] = []
        unopened: RunError | None = None
        for round, name, mark in self._rows("rounds", _CHECKPOINTS):
            try:
                arrays = read_checkpoint(checkpoint_path(self.path / "checkpoints", name), mark)
                return Newest(round, arrays, tuple(passed))
            except RunError as error:
                passed.append(Event("damaged", f"passed over the checkpoint of round {round}: {error}"))
                unopened = unopened or (error if isinstance(error.__cause__, OSError) else None)
        if unopened:
            raise RunError(f"{unopened}; nothing was changed")
        return Newest(0, {}, tuple(passed))

    def checkpoint(self, round: int | None = None) -> dict[str, np.ndarray]:
        """The server's state after a round (the newest by default)."""
        for at, name, mark in self._rows("rounds", _CHECKPOINTS):
            if round is None or at == round:
                return read_checkpoint(checkpoint_path(self.path / "checkpoints", name), mark)
        kept = ", ".join(map(str, self.checkpoints)) or "none"
        raise RunError(
            f"{self.path}: no checkpoint of round {round}; kept are {kept}. Set checkpoint.at to keep more"
        )

    def _decoded(
        self, name: str, round: object, dtype: object, shape: object, data: object, *,
        bases: dict[int, np.ndarray] | None = None,
    ) -> np.ndarray:  # fmt: skip
        """An array of the record; `bases` are those at hand that it may be based on."""
        bases = {} if bases is None else bases

        def base(at: int) -> np.ndarray:
            if at not in bases:
                query = "SELECT dtype, shape, data FROM arrays WHERE name = ? AND round = ?"
                rows = self._rows("arrays", query, (name, at))
                if not rows or not is_whole(rows[0][0]):
                    raise ValueError(f"round {at}, which it is based on, is not there")
                bases[at] = decoded(*rows[0])
            return bases[at]

        try:
            return decoded(dtype, shape, data, base)
        except ValueError as error:
            where = f"{self.path}/run.sqlite: the array {name!r} of round {str(round)[:20]}"
            raise RunError(f"{where} is damaged: {error}") from error

    def _rows(self, table: str, query: str, values: Row = ()) -> list[Row]:
        with looking(self.path / "run.sqlite") as database:
            return list(read(database, table, query, values))


def open_run(path: str | Path) -> Run:
    """Open a run directory for reading."""
    return Run(Path(path))


def list_runs(folder: str | Path) -> list[tuple[Path, Run | RunError]]:
    """Every run directory below a folder; a broken one comes with its error instead."""
    found: list[tuple[Path, Run | RunError]] = []
    for config in sorted(Path(folder).glob("*/config.toml")):
        try:
            run = Run(config.parent)
            run.check()  # a broken one is told of here, not when somebody looks at it
            found.append((config.parent, run))
        except RunError as error:
            found.append((config.parent, error))
    return found
