"""Results of cells, one small JSON file each: what was measured, and everything needed to measure it again.

A result is never edited. The same cell measured again, or measured with another config, is another file; of several
that stand for one cell and seed the newest counts.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from flockwise.config import Config, parse_config
from flockwise.errors import FlockwiseError
from flockwise.store.files import write_atomically
from flockwise.studies.cells import Cell

_LEFT_OUT = ("engine", "checkpoint", "name")  # sections that do not change a run's numbers
_LIST = re.compile(r"\[[^\[\]{}]*\]")  # of numbers: on one line
_NOTHING: tuple[object, ...] = ({}, [], "", None)
_ALWAYS = ("study", "table", "cell", "seed", "clean")
FORMAT = 1


@dataclass(frozen=True)
class Result:
    """What one cell gave with one seed."""

    study: str
    table: str
    cell: str
    seed: int
    scale: str = ""
    labels: dict[str, str] = field(default_factory=dict)  # axis: label
    config: dict[str, Any] = field(default_factory=dict)  # fully resolved; empty for what was computed
    forked_at: int | None = None
    values: dict[str, float | None] = field(default_factory=dict)  # numbers at the end, by name
    curves: dict[str, list[float | None]] = field(default_factory=dict)  # the same by round
    rounds: list[int] = field(default_factory=list)  # of the curves; empty: 1, 2, ...
    arrays: dict[str, list[list[float]]] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0  # of training; rounds shared with other cells are counted in each of them
    cpu_seconds: float | None = None  # of all processes, what cells share counted once; None: unknown
    date: str = ""
    commit: str = "unknown"
    clean: bool | None = None  # whether the tree was as committed; None: unknown
    command: str = ""
    twin: str = ""  # the cell whose run this is too, because the two must be the same
    decided: str = ""  # what the cell's state was when it was settled, as a digest
    tuned: dict[str, Any] = field(default_factory=dict)  # settings that a fair search chose
    pieces: dict[str, str] = field(default_factory=dict)  # module: digest of the file, of users' own pieces
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def key(self) -> tuple[str, str, int]:
        """Which cell of a study it is, with which seed."""
        return self.table, self.cell, self.seed


def telling(config: Config | Mapping[str, Any]) -> dict[str, Any]:
    """What of a config can change a run's numbers: not where data lie, nor how many workers train."""
    content = config.written() if isinstance(config, Config) else dict(config)
    kept = {name: part for name, part in content.items() if name not in _LEFT_OUT}
    data = kept.get("data")
    if isinstance(data, Mapping):
        kept["data"] = {name: part for name, part in data.items() if name != "directory"}
    return kept


def digest(content: Any) -> str:
    """A short name for some content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:12]


def cell_digest(cell: Cell) -> str:
    """What a cell's results are known by: another config is another file."""
    content = (
        telling(cell.config)
        if cell.config
        else {"compute": cell.spec.compute, **cell.labels, "seed": cell.seed}
    )
    known = [content, cell.beginning.at if cell.beginning else None]
    return digest([*known, dict(cell.pieces)] if cell.pieces else known)


def stands(result: Result, cell: Cell, directory: Path | None = None) -> bool:
    """Whether a result is that of the cell as it is now.

    Its config is read anew, so that options which a later release added are taken at their defaults.
    """
    at = cell.beginning.at if cell.beginning else None
    if result.error or result.forked_at != at or result.tuned != dict(cell.tuned):
        return False
    if not same_pieces(result, cell):
        return False
    if cell.config is None:
        return not result.config and bool(cell.spec.compute)
    if telling(result.config) == telling(cell.config):
        return True
    try:
        return telling(parse_config(result.config, directory=directory)) == telling(cell.config)
    except FlockwiseError:
        return False


def same_pieces(result: Result, cell: Cell) -> bool:
    """Whether a user's own pieces are as they were; of those that a result does not tell of, nothing is known."""
    return all(result.pieces.get(module, mark) == mark for module, mark in cell.pieces.items())


def current(results: Iterable[Result], cells: Iterable[Cell], directory: Path | None = None) -> list[Result]:
    """The results that count: one for each cell and seed, the newest of those that stand."""
    return [newest for *_, newest in _standing(results, cells, directory)]


def superseded(
    results: Iterable[Result], cells: Iterable[Cell], directory: Path | None = None
) -> list[Result]:
    """The results that stand as well, but were measured again since."""
    return [old for *older, _ in _standing(results, cells, directory) for old in older]


def _standing(
    results: Iterable[Result], cells: Iterable[Cell], directory: Path | None
) -> Iterator[list[Result]]:
    """The results that stand for each cell and seed that has any, the oldest first."""
    wanted = {(cell.table, cell.name, cell.seed): cell for cell in cells}
    found: dict[tuple[str, str, int], list[Result]] = {}
    for result in results:
        cell = wanted.get(result.key)
        if cell is not None and stands(result, cell, directory):
            found.setdefault(result.key, []).append(result)
    for key in wanted:
        if key in found:
            yield sorted(found[key], key=lambda result: result.date)


def write_result(folder: Path, result: Result, mark: str) -> Path:
    """Write it whole or not at all, beside what is there already."""
    place = folder.joinpath(*(slug(part) for part in (result.scale, result.table) if part))
    place.mkdir(parents=True, exist_ok=True)
    stem = f"{slug(result.cell)}-seed{result.seed}-{mark}"
    names = (f"{stem}.json" if number == 1 else f"{stem}-{number}.json" for number in range(1, 10_000))
    path = next(place / name for name in names if not (place / name).exists())
    content = {
        name: value for name, value in asdict(result).items() if name in _ALWAYS or value not in _NOTHING
    }
    text = _LIST.sub(lambda found: " ".join(found[0].split()), json.dumps(content, indent=1))
    write_atomically(path, (text + "\n").encode())
    return path


def read_result(path: Path) -> Result | None:
    """The result, or None if the file cannot be read as one."""
    try:
        return Result(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def results_in(folder: Path) -> Iterator[Result]:
    """Every result below a folder, in the order of their names."""
    for path in sorted(folder.rglob("*.json")):
        found = read_result(path)
        if found is not None:
            yield found


def slug(text: str) -> str:
    """A text as the name of a file."""
    return re.sub(r"[^A-Za-z0-9.]+", "_", text).strip("_.")[:80] or "cell"
