"""From cells and results to tables: which results count, where each belongs, what is marked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from flockwise.studies.cells import Cell, labels_of
from flockwise.studies.entry import Entry, entry_of, worst_entry
from flockwise.studies.file import StudyFile, Table, sides
from flockwise.studies.reading import specs_of
from flockwise.studies.results import Result, current, stands
from flockwise.studies.statistics import marks
from flockwise.studies.table import Column, Key, Labels, StudyTable, key_of


def tables_of(
    study: StudyFile, cells: Sequence[Cell], results: Iterable[Result], directory: Path | None = None
) -> list[StudyTable]:
    """Every table that has cells, of all results there are: those that count are picked here."""
    results = list(results)
    mine = {name: [cell for cell in cells if cell.table == name] for name in study.every_table()}
    return [
        _table(study, name, table, mine[name], results, directory)
        for name, table in study.every_table().items()
        if mine[name]
    ]


def _table(
    study: StudyFile, name: str, spec: Table, cells: list[Cell], results: list[Result], directory: Path | None
) -> StudyTable:
    row_axes, column_axes = sides(spec)
    count = current(results, cells, directory)
    failures = _failures(cells, results, count, directory)
    rows = _labels(spec, row_axes, cells)
    settings = _labels(spec, column_axes, cells)
    columns = [Column(setting, number, how) for setting in settings for number, how in specs_of(spec).items()]
    columns += _worst_columns(spec, column_axes, settings)
    found = {result.key: result for result in count}
    entries = [_row(row, columns, cells, row_axes, column_axes, found, failures) for row in rows]
    return StudyTable(
        study.name, name, spec.title, spec, tuple(row_axes), tuple(column_axes), rows, columns,
        _marked(_with_worst(entries, columns, column_axes), columns, _bounds(spec, rows)), cells, count, failures,
    )  # fmt: skip


def _failures(
    cells: list[Cell], results: list[Result], count: list[Result], directory: Path | None
) -> dict[Key, str]:
    """Errors of the cells that have nothing else: a config that cannot be run, or a run that failed."""
    wanted = {key_of(cell): cell for cell in cells}
    failures = {key: cell.error for key, cell in wanted.items() if cell.error}
    for result in sorted(results, key=lambda result: result.date):
        cell = wanted.get(result.key)
        if cell and result.error and stands(replace(result, error=""), cell, directory):
            failures[result.key] = result.error
    for result in count:
        failures.pop(result.key, None)
    return failures


def _labels(spec: Table, axes: list[str], cells: list[Cell]) -> list[Labels]:
    """The combinations of some axes that there are cells for, in the order of the file."""
    order = {axis: {label: place for place, label in enumerate(labels_of(spec.vary[axis]))} for axis in axes}
    there = dict.fromkeys(tuple(cell.labels[axis] for axis in axes) for cell in cells)
    return sorted(
        there, key=lambda labels: [order[axis][label] for axis, label in zip(axes, labels, strict=True)]
    )


def _worst_columns(spec: Table, axes: list[str], settings: list[Labels]) -> list[Column]:
    axis = spec.show.worst
    if axis is None:
        return []
    place = axes.index(axis)
    others = dict.fromkeys((*setting[:place], "", *setting[place + 1 :]) for setting in settings)
    return [
        Column(other, number, how, worst=axis)
        for other in others
        for number, how in specs_of(spec).items()
        if how.direction != "neither"
    ]


def _row(
    row: Labels, columns: list[Column], cells: list[Cell], row_axes: list[str], column_axes: list[str],
    found: Mapping[Key, Result], failures: Mapping[Key, str],
) -> list[Entry]:  # fmt: skip
    mine = [cell for cell in cells if tuple(cell.labels[axis] for axis in row_axes) == row]
    by_setting: dict[Labels, list[Cell]] = {}
    for cell in mine:
        by_setting.setdefault(tuple(cell.labels[axis] for axis in column_axes), []).append(cell)
    return [
        Entry()
        if column.worst
        else entry_of(by_setting.get(column.labels, []), found, failures, column.number, column.spec)
        for column in columns
    ]


def _with_worst(entries: list[list[Entry]], columns: list[Column], axes: list[str]) -> list[list[Entry]]:
    for c, column in enumerate(columns):
        if not column.worst:
            continue
        place = axes.index(column.worst)
        over = [
            o for o, other in enumerate(columns)
            if not other.worst and other.number == column.number
            and (*other.labels[:place], "", *other.labels[place + 1 :]) == column.labels
        ]  # fmt: skip
        most = max((sum(not row[o].left_out for o in over) for row in entries), default=0)
        for row in entries:
            row[c] = worst_entry([row[o] for o in over], column.spec.direction, most)
    return entries


def _bounds(spec: Table, rows: list[Labels]) -> list[bool]:
    """Which rows are not compared."""
    return [any(label in spec.show.bounds for label in labels) for labels in rows]


def _marked(entries: list[list[Entry]], columns: list[Column], bounds: list[bool]) -> list[list[Entry]]:
    for c, column in enumerate(columns):
        compared = (None if bound else row[c].compared for row, bound in zip(entries, bounds, strict=True))
        given = marks(list(compared), column.spec.direction)
        for row, mark in zip(entries, given, strict=True):
            row[c] = replace(row[c], mark=mark)
    return entries
