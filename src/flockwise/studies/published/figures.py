"""The drawings of a paper's page: `figures.toml` beside a study's file says what is drawn from which cells."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from flockwise.config.sections import Section
from flockwise.pictures import heat_map
from flockwise.studies.published.bars import read_items
from flockwise.studies.published.drawing import Lines, against, beside
from flockwise.studies.published.measured import Measured
from flockwise.studies.published.verdicts import Row
from flockwise.studies.results import Result
from flockwise.studies.statistics import mean_and_half_width

Point = tuple[float, float]


class Figure(Section):
    """One drawing, and what it is made of."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    kind: Literal["published", "curves", "lines", "table", "matrix"]
    tables: list[str] = Field(
        default_factory=list, description="published: the tables whose numbers are drawn"
    )
    table: str = ""
    cells: list[str] = Field(default_factory=list, description="curves: a line each")
    cell: str = Field("", description="lines, table: with {x}, {line}, {row} and {column} to be filled in")
    lines: list[str] = Field(default_factory=list)
    x: list[str] = Field(default_factory=list, description="lines: labels that hold a number, such as 70%")
    rows: list[str] = Field(default_factory=list)
    columns: list[str] = Field(default_factory=list)
    number: str = ""
    curve: str = ""
    array: str | int = Field("", description="matrix, curves: an array of the result, by name or place")
    published: list[str] = Field(
        default_factory=list,
        description="curves: numbers whose published value is drawn at the end of the line",
    )
    each_seed: bool = Field(
        False, description="curves: a line for each, where a mean of them would tell nothing"
    )
    times: float = 1.0
    across: str = "round"
    up: str = ""
    low: float | None = None
    high: float | None = None


def read_figures(folder: Path) -> list[Figure]:
    """The figures of a study's folder; none where it has no figures.toml."""
    return read_items(Figure, folder / "figures.toml", "figures")


def draw(figure: Figure, measured: Measured, rows: Sequence[Row]) -> str | None:
    """The figure as SVG; None while there is nothing to draw."""
    span = (figure.low, figure.high) if figure.low is not None and figure.high is not None else None
    if figure.kind == "published":
        mine = [
            r for r in rows if r.table in figure.tables and r.side and r.bar and r.bar.block.unit != "number"
        ]
        return against(figure.title, mine, figure.high or 100.0).svg() if mine else None
    if figure.kind == "table":
        values = [
            [_mean(measured, figure, row=row, column=column) for column in figure.columns]
            for row in figure.rows
        ]
        known = any(value is not None for line in values for value in line)
        return (
            heat_map(figure.title, figure.across, figure.up, values, figure.columns, figure.rows)
            if known
            else None
        )
    if figure.kind == "matrix":
        result = measured.first(figure.table, figure.cell)
        matrix = _array(result, figure.array) if result else None
        return heat_map(figure.title, figure.across, figure.up, matrix) if matrix else None
    drawing = _curves if figure.kind == "curves" else _lines
    drawn = list(drawing(figure, measured, rows))
    return beside(figure.title, figure.across, figure.up, drawn, span).svg() if drawn else None


def _curves(figure: Figure, measured: Measured, rows: Sequence[Row]) -> Iterator[Lines]:
    for cell in figure.cells:
        results = measured.every(figure.table, cell)
        if figure.each_seed:
            yield from (Lines(f"seed {one.seed}, {cell}", _points(figure, one), []) for one in results)
            continue
        seeds = [_points(figure, result) for result in results]
        ours, halves = _over_seeds([points for points in seeds if points])
        bars = [
            r.bar.value
            for r in rows
            if r.bar and (r.table, r.cell) == (figure.table, cell) and r.number in figure.published
        ]
        if ours:
            yield Lines(cell, ours, [(ours[-1][0], value) for value in bars], halves)


def _points(figure: Figure, result: Result) -> list[Point]:
    """What one seed gave, round by round."""
    if figure.array != "":  # rounds, and a value for each
        held = _array(result, figure.array) or []
        pairs = list(zip(held[0], held[-1], strict=True)) if len(held) == 2 else []
        return pairs or [(place + 1.0, value) for place, value in enumerate(held[0] if held else [])]
    curve = result.curves.get(figure.curve, [])
    numbered = result.rounds or range(1, len(curve) + 1)
    return [(float(r), figure.times * v) for r, v in zip(numbered, curve, strict=True) if v is not None]


def _over_seeds(seeds: Sequence[Sequence[Point]]) -> tuple[list[Point], list[float | None]]:
    """The mean where all seeds have a value, and half of its interval; one seed has none."""
    known = [dict(points) for points in seeds]
    common = [x for x in (known[0] if known else {}) if all(x in one for one in known)]
    told = [(x, *mean_and_half_width([one[x] for one in known])) for x in common]
    return [(x, mean) for x, mean, _ in told], [half for _, _, half in told]


def _lines(figure: Figure, measured: Measured, rows: Sequence[Row]) -> Iterator[Lines]:
    bars = {(row.table, row.cell, row.number): row.bar.value for row in rows if row.bar}
    for line in figure.lines:
        ours: list[tuple[float, float, float | None]] = []
        published = []
        for label in figure.x:
            place, cell = float(label.rstrip("%")), figure.cell.format(line=line, x=label)
            values = list(measured.values(figure.table, cell, figure.number).values())
            bar = bars.get((figure.table, cell, figure.number))
            ours += [(place, *mean_and_half_width(values))] if values else []
            published += [] if bar is None else [(place, bar)]
        if ours:
            ours.sort(key=lambda point: point[0])
            yield Lines(line, [(x, y) for x, y, _ in ours], sorted(published), [half for _, _, half in ours])


def _mean(measured: Measured, figure: Figure, **names: str) -> float | None:
    values = measured.values(figure.table, figure.cell.format(**names), figure.number)
    return sum(values.values()) / len(values) if values else None


def _array(result: Result, which: str | int) -> list[list[float]] | None:
    if isinstance(which, str):
        return result.arrays.get(which)
    held = list(result.arrays.values())
    return held[which] if which < len(held) else None
