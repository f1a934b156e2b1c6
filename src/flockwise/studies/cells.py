"""The cells of a study: every combination of what is varied, each with the config of an ordinary run."""

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flockwise.config import Config, parse_config
from flockwise.config.reading import with_settings
from flockwise.errors import ConfigError, FlockwiseError
from flockwise.plugins import own_digests
from flockwise.studies.file import Axis, Fork, RoundOf, Settings, StudyFile, Table, Where

_ROUND = re.compile(r"^\s*([A-Za-z_][\w.]*)\s*(?:([+-])\s*(\d+))?\s*$")


@dataclass(frozen=True)
class Beginning:
    """Rounds that a cell has in common with others: what is run for them, and up to which round."""

    content: Settings
    at: int
    pieces: Mapping[str, str] = field(default_factory=dict)  # as of a cell


@dataclass(frozen=True)
class Cell:
    """One run of a study; `content` is what the study says of it, `config` all of it."""

    table: str
    name: str
    labels: Mapping[str, str]  # axis: label
    seed: int
    content: Settings
    scale: str = ""
    config: Config | None = None  # None: computed, or not to be run (see error)
    beginning: Beginning | None = None
    settled: int | None = None
    error: str = ""
    tuned: Mapping[str, Any] = field(default_factory=dict)  # what a search chose, or tries
    pieces: Mapping[str, str] = field(
        default_factory=dict
    )  # module: digest of the file, of users' own pieces
    spec: Table = field(default_factory=Table, repr=False, compare=False)

    def round(self, of: RoundOf | None) -> int | None:
        """A round, or the one that a field of the config holds."""
        if of is None or isinstance(of, int):
            return of
        written = self.config.written() if self.config else self.content
        return round_of(of, written)


def cells_of(study: StudyFile, scale: str = "", directory: Path | None = None) -> list[Cell]:
    """All cells, table by table, seed by seed; a config that cannot be run is a cell with its error."""
    if scale and scale not in study.scales:
        known = ", ".join(study.scales) or "none"
        raise ConfigError(f"scale = {scale!r}: this study has no such scale; there are {known}")
    found = []
    for name, table in study.every_table().items():
        plans = [_planned(name, table, labels, study, scale) for labels in _combinations(table.vary)]
        for seed in seeds_of(table):
            found += [_resolved(cell, seed, directory) for cell in plans if cell is not None]
    return found


def seeds_of(table: Table) -> list[int]:
    """The seeds of a table."""
    return list(table.seeds) if isinstance(table.seeds, list) else list(range(table.seeds or 1))


def labels_of(axis: Axis) -> list[str]:
    """What the values of an axis are called."""
    return list(axis) if isinstance(axis, Mapping) else [label_of(value) for value in axis]


def label_of(value: Any) -> str:
    """What a value is called in tables."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def round_of(expression: str, content: Mapping[str, Any]) -> int:
    """The round that an expression such as "strategy.warmup - 1" means in a config."""
    match = _ROUND.match(expression)
    value: Any = content
    for part in match[1].split(".") if match else []:
        value = value.get(part) if isinstance(value, Mapping) else None
    if not match or isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(
            f"{expression!r}: must be a round, or a field of the config that holds one, such as 'strategy.warmup - 1'"
        )
    return value + (int(match[3]) if match[3] else 0) * (-1 if match[2] == "-" else 1)


def _combinations(vary: Mapping[str, Axis]) -> Iterator[dict[str, Any]]:
    """Axis: (label, settings), for every combination; the last axis runs fastest."""
    sides = [[(name, *one) for one in _values(name, axis)] for name, axis in vary.items()]
    for chosen in itertools.product(*sides):
        yield {name: (label, settings) for name, label, settings in chosen}


def _values(name: str, axis: Axis) -> list[tuple[str, Settings]]:
    if isinstance(axis, Mapping):
        return list(axis.items())
    return [(label_of(value), _nested(name, value)) for value in axis]


def _nested(path: str, value: Any) -> Settings:
    """`split.groups` = 3 as {"split": {"groups": 3}}."""
    for part in reversed(path.split(".")):
        value = {part: value}
    settings: Settings = value
    return settings


def _planned(name: str, table: Table, chosen: dict[str, Any], study: StudyFile, scale: str) -> Cell | None:
    labels = {axis: label for axis, (label, _) in chosen.items()}
    known = {**labels, "scale": scale}
    if any(_meant(where, known) for where in table.skip):
        return None
    content = with_settings(table.base, study.scales.get(scale, {}))
    for _, settings in chosen.values():
        content = with_settings(content, settings)
    for adjust in table.adjust:
        if _meant(adjust.where, known):
            content = with_settings(content, adjust.set)
    called = table.cell.format_map(labels) if table.cell else ", ".join(labels.values())
    return Cell(name, called or "the run", labels, 0, content, scale, spec=table)


def _meant(where: Where, labels: Mapping[str, str]) -> bool:
    return all(
        labels[axis] in {label_of(one) for one in (wanted if isinstance(wanted, list) else [wanted])}
        for axis, wanted in where.items()
    )


def with_tuned(cell: Cell, tuned: Mapping[str, Any], directory: Path | None) -> Cell:
    """The cell with fields set to what a search chose."""
    content = cell.content
    for name, value in tuned.items():
        content = with_settings(content, _nested(name, value))
    return _resolved(replace(cell, content=content, tuned=tuned, error=""), cell.seed, directory)


def _resolved(cell: Cell, seed: int, directory: Path | None) -> Cell:
    if cell.spec.compute:
        return replace(cell, seed=seed, pieces=own_digests(_read_by(cell.spec), directory))
    content = {**cell.content, "seed": seed}
    try:
        config = parse_config(content, directory=directory)
        pieces = own_digests([config.written(), _read_by(cell.spec)], directory)
        whole = replace(cell, seed=seed, content=content, config=config, pieces=pieces)
        known = {**cell.labels, "scale": cell.scale}
        fork = next((fork for fork in cell.spec.forks() if _meant(fork.where, known)), None)
        return _forked(whole, fork, directory) if fork else whole
    except FlockwiseError as error:  # also of a user's own piece that cannot be imported or put together
        return replace(cell, seed=seed, content=content, error=str(error))


def _read_by(table: Table) -> list[str | None]:
    """What a table names that makes its numbers, beside configs."""
    return [table.compute, table.arrays, *(spec.of for spec in table.numbers.values()), *table.show.numbers]


def _forked(cell: Cell, fork: Fork, directory: Path | None) -> Cell:
    at = cell.round(fork.at)
    assert at is not None and cell.config is not None
    if at < 1 or at >= cell.config.rounds:
        return cell  # nothing in common, or nothing after it
    before = with_settings(cell.content, fork.before)
    pieces = own_digests(parse_config(before, directory=directory).written(), directory)
    return replace(cell, beginning=Beginning(before, at, pieces), settled=cell.round(fork.settled))
