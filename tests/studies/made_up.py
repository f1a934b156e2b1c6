"""Studies whose results are made up: nothing is trained."""

from collections.abc import Callable, Mapping
from typing import Any

from flockwise.studies.cells import Cell, cells_of
from flockwise.studies.file import StudyFile, read_study
from flockwise.studies.published.bars import Bar, Block
from flockwise.studies.published.measured import Measured
from flockwise.studies.results import Result
from flockwise.studies.table import StudyTable
from flockwise.studies.tabulating import tables_of

Values = Callable[[Mapping[str, str], int], Mapping[str, float | None] | str | None]


def study_of(vary: Mapping[str, Any], seeds: int | list[int] = 3, **more: Any) -> StudyFile:
    """A study of what is varied; its cells are computed, so that labels may be anything."""
    axes = {name: {label: {} for label in labels} for name, labels in vary.items()}
    return read_study({"name": "made up", "compute": "nobody:nothing", "vary": axes, "seeds": seeds, **more})


def result_of(cell: Cell, said: Mapping[str, float | None] | str, **more: Any) -> Result:
    """A result with numbers, or with an error."""
    names = {"study": "made up", "table": cell.table, "cell": cell.name, "seed": cell.seed}
    kept = {"error": said} if isinstance(said, str) else {"values": dict(said)}
    return Result(**{**names, "labels": dict(cell.labels), "date": "2026-01-01T00:00:00Z", **kept, **more})


def table_of(study: StudyFile, values: Values) -> StudyTable:
    """The study's first table; None from `values`: the cell was not run, a text: it failed."""
    cells = cells_of(study)
    said = [(cell, values(cell.labels, cell.seed)) for cell in cells]
    results = [result_of(cell, one) for cell, one in said if one is not None]
    return tables_of(study, cells, results)[0]


def by_method(rows: Mapping[str, list[float]], number: str = "accuracy", **more: Any) -> StudyTable:
    """A table of one column: the values of each method, seed by seed."""
    seeds = max(map(len, rows.values()))
    study = study_of({"method": list(rows)}, seeds, show={"numbers": [number]}, **more)

    def values(labels: Mapping[str, str], seed: int) -> Mapping[str, float | None] | None:
        found = rows[labels["method"]]
        return {number: found[seed]} if seed < len(found) else None

    return table_of(study, values)


def measured_of(rows: Mapping[str, list[float]], number: str = "accuracy", **more: Any) -> Measured:
    """A number of some cells by seed, at one scale."""
    seeds = max(map(len, rows.values()), default=1) or 1
    study = study_of({"method": list(rows)}, seeds, show={"numbers": [number]})
    cells = cells_of(study)
    results = [
        result_of(cell, {number: rows[cell.name][cell.seed]}, **more)
        for cell in cells
        if cell.seed < len(rows[cell.name])
    ]
    return Measured(tuple(cells), tuple(results))


def bar_of(value: float, cell: str = "ours", spread: float | None = None, **more: Any) -> Bar:
    """A published number of a cell."""
    block = {"place": "Table 1", "table": "", "number": "accuracy", "rows": {cell: [value]}, **more}
    return Bar("Table 1", "", cell, "accuracy", value, spread, Block.model_validate(block))
