"""What stands below a table: everything that is needed to read it rightly."""

from collections.abc import Mapping
from typing import Any

from flockwise.numbers import number_of
from flockwise.studies.cells import label_of
from flockwise.studies.file import NumberSpec
from flockwise.studies.searching import budget
from flockwise.studies.table import StudyTable

_FEW = 8


def notes_of(table: StudyTable, best: str = "bold", tied: str = "italic") -> list[str]:
    """Seeds, marks, definitions, what was tuned, what failed and what is missing, a line each."""
    return [
        _seeds(table, best, tied), *map(definition, table.numbers.values()), *_worst(table), *_partial(table),
        *_tuned(table), *_failed(table), *_missing(table),
    ]  # fmt: skip


def definition(spec: NumberSpec) -> str:
    """A number's title, meaning, how it was read, and which direction is better."""
    number = number_of(spec.of)
    said = f"{spec.title or number.title}: {number.meaning or f'as {spec.of} computes it'}"
    said += f"; target {spec.target:g}" if spec.target is not None else ""
    if spec.at is not None:
        said += f"; at round {spec.at}"
    elif spec.over is not None:
        said += f"; {spec.statistic} of rounds {spec.over[0]} to {spec.over[1]}"
    elif spec.last is not None:
        said += f"; {spec.statistic} of the last {spec.last} rounds"
    elif not number.of_run and number.meaning:
        said += "; after the last round"
    return said + (f"; {spec.direction} is better." if spec.direction != "neither" else ".")


def seeds_said(seeds: list[int]) -> str:
    """Seeds in words."""
    listed = ", ".join(str(seed) for seed in seeds[:12]) + (", ..." if len(seeds) > 12 else "")
    return f"one seed ({listed})" if len(seeds) == 1 else f"{len(seeds)} seeds ({listed})"


def _seeds(table: StudyTable, best: str, tied: str) -> str:
    seeds = sorted({cell.seed for cell in table.cells})
    if len(seeds) == 1:
        return f"One seed ({seeds[0]}): no intervals, no marks."
    said = f"Mean and 95 % interval (Student's t) over {seeds_said(seeds)}."
    given = {entry.mark for row in table.entries for entry in row}
    if "best" in given:
        said += f" {best}: best mean of its column; {tied}: not distinguishable from it (paired t test over seeds, "
        said += "one-sided, 5 % for the column as a whole). Entries with failed seeds or without a value are not marked."
        bounds = table.spec.show.bounds
        said += f" Bounds, not compared: {', '.join(bounds)}." if bounds else ""
    return said


def _worst(table: StudyTable) -> list[str]:
    if table.spec.show.worst is None:
        return []
    said = f"Worst {table.spec.show.worst}: the worst over that axis for each seed, then the mean over seeds"
    return [f"{said}; a seed counts if it has all of them."]


def _partial(table: StudyTable) -> list[str]:
    rows = [
        ", ".join(labels)
        for labels, row in zip(table.rows, table.entries, strict=True)
        if any(entry.partial for entry in row)
    ]
    return [f"Worst over fewer settings than other rows have, so not marked: {_some(rows)}."] if rows else []


def _tuned(table: StudyTable) -> list[str]:
    tune = table.spec.tune
    if tune is None:
        return []
    axes = tune.by or table.row_axes
    chosen: dict[str, dict[str, None]] = {}  # what was chosen: for which methods, each once
    for labels, result in table.labelled:
        if result.tuned:
            method = ", ".join(labels[axis] for axis in axes) or "all"
            chosen.setdefault(settings_said(result.tuned), {})[method] = None
    where = (
        ""
        if set(tune.by or table.row_axes) == set(table.spec.vary)
        else ", in the first setting of the others"
    ) + (f" of table {tune.table}" if tune.table not in (None, table.name) else "")
    said = f"Tuned on validation data ({number_of(tune.number).title}), {budget(tune)} tries each of "
    said += (
        f"{', '.join(tune.search)} with seed {tune.seed}, for each {' and '.join(axes) or 'table'}{where}."
    )
    listed = "; ".join(f"{settings} for {', '.join(methods)}" for settings, methods in chosen.items())
    return [f"{said} Chosen: {listed}." if listed else said]


def settings_said(settings: Mapping[str, Any]) -> str:
    """Settings that were tried or chosen, in words."""
    return ", ".join(f"{name} = {label_of(value)}" for name, value in settings.items())


def _failed(table: StudyTable) -> list[str]:
    failed: dict[str, list[str]] = {}  # often all for one reason, which is said once
    for (_, cell, seed), error in table.failures.items():
        failed.setdefault(error.splitlines()[0][:200], []).append(f"{cell} (seed {seed})")
    said = [f"{_some(cells)}: {why}" for why, cells in failed.items()]
    return [f"{len(table.failures)} of {len(table.cells)} cells failed: {_some(said, '; ')}"] if said else []


def _missing(table: StudyTable) -> list[str]:
    names = [f"{cell.name} (seed {cell.seed})" for cell in table.missing]
    return (
        [f"{len(names)} of {len(table.cells)} cells are not run yet: {_some(names, '; ')}."] if names else []
    )


def _some(names: list[str], between: str = ", ") -> str:
    return between.join(names[:_FEW]) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
