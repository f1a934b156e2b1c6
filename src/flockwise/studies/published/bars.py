"""The numbers of a publication: `published.toml` beside a study's file, in blocks that look like the printed table."""

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field
from scipy.special import stdtrit

from flockwise.config.sections import Section
from flockwise.errors import ConfigError
from flockwise.options import named, validated
from flockwise.studies.statistics import LEVEL

Unit = Literal["percent", "share", "number"]
MARGINS = {"percent": 1.0, "share": 0.01, "number": 0.0}  # a point; what is counted must be exactly the same
M = TypeVar("M", bound=BaseModel)


class Of(Section):
    """A number of a cell."""

    table: str
    cell: str
    number: str


class Block(Section):
    """A printed table, or a part of one: a row of values for each cell, or with {} in its name for several."""

    place: str = Field(description="where in the paper")
    table: str = Field(description="of the study")
    number: str | None = Field(None, description="of the study, where columns are cells")
    cells: list[str] | None = Field(None, description="what {} in a row's name stands for, column by column")
    numbers: list[str] | None = Field(None, description="columns that are numbers of the study")
    rows: dict[str, list[float | Literal["n/d"]]] = Field(description="cell: values")
    spreads: dict[str, list[float]] = Field(default_factory=dict, description="cell: what stands after ±")
    spread_over: Literal["runs", "clients", "unknown"] = "unknown"
    seeds: int | None = Field(None, ge=1, description="how many runs the paper says it made")
    statistic: str = ""
    unit: Unit = "percent"
    margin: float | None = Field(None, ge=0, description="default: a point; 0 for what is counted")
    judged: bool = Field(True, description="false: shown beside ours without a verdict")
    baseline_under_attack: bool = Field(
        False, description="a defence is judged by others: higher may only mean a weaker attack"
    )
    trivial: float | Of | None = Field(None, description="what a run that does nothing clever would give")
    because: str = Field("", description="which run that is")


@dataclass(frozen=True)
class Bar:
    """One published number, and by what it is judged."""

    place: str
    table: str
    cell: str
    number: str
    value: float
    spread: float | None
    block: Block

    @property
    def margin(self) -> float:
        """How far ours may be away and still agree."""
        return MARGINS[self.block.unit] if self.block.margin is None else self.block.margin

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the published mean; 0 where the paper gives no spread over runs."""
        count = self.block.seeds or 0
        if self.spread is None or self.block.spread_over != "runs" or count < 2:
            return 0.0
        return float(stdtrit(count - 1, 1 - LEVEL / 2)) * self.spread / math.sqrt(count)


@dataclass(frozen=True)
class Printed:
    """What a paper prints, as if it were what one seed gave: its own numbers must pass a fair reading of its words."""

    bars: Sequence[Bar]

    def values(self, table: str, cell: str, number: str) -> dict[int, float]:
        """The printed number; nothing where the paper has none."""
        place = (table, cell, number)
        found = [bar.value for bar in self.bars if (bar.table, bar.cell, bar.number) == place]
        return dict(enumerate(found[:1]))

    def silent(self, table: str, cell: str, number: str) -> int:
        """None: what is not printed is not known."""
        return 0


def read_bars(folder: Path) -> list[Bar]:
    """Every published number of a study's folder; none where it has no published.toml."""
    path = folder / "published.toml"
    return [bar for block in read_items(Block, path, "published", "formerly") for bar in _bars(block, path)]


def former_names(folder: Path) -> dict[str, str]:
    """What older results of a study call its numbers: what they are called now."""
    path = folder / "published.toml"
    names = _content(path).get("formerly", {}) if path.is_file() else {}
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise ConfigError(f"{path}: formerly: must be names, such as {{old = 'new'}}")
    return names


def read_items(kind: type[M], path: Path, key: str, *others: str) -> list[M]:
    """The entries of a TOML file that is a list of them; none without the file, and what is wrong told with its number."""
    content = _content(path) if path.is_file() else {}
    for unknown in content.keys() - {key, *others}:
        raise ConfigError(f"{path}: {named(unknown)}: unknown; a file of [[{key}]]")
    items = content.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ConfigError(f"{path}: {key}: must be a list of tables, [[{key}]]")
    try:
        return [validated(kind, item, f"{key} {number}, ") for number, item in enumerate(items, start=1)]
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def _bars(block: Block, path: Path) -> Iterator[Bar]:
    columns = block.cells or block.numbers or [""]
    for row, values in block.rows.items():
        spreads = block.spreads.get(row, [])
        if len(values) != len(columns) or (spreads and len(spreads) != len(columns)):
            raise ConfigError(
                f"{path}: {block.place}: {row!r} has {len(values)} values, {len(columns)} wanted"
            )
        for number, (column, value) in enumerate(zip(columns, values, strict=True)):
            if value == "n/d":
                continue
            cell = row.replace("{}", column) if block.cells else row
            name = column if block.numbers else block.number or ""
            spread = spreads[number] if spreads else None
            yield Bar(block.place, block.table, cell, name, float(value), spread, block)
