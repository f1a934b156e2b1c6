"""A try of a search: an ordinary cell whose clients are judged on their validation data, and what it gave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flockwise.studies.cells import Cell, with_tuned
from flockwise.studies.file import NumberSpec, Show, Table, Tune, sides
from flockwise.studies.reading import value_of
from flockwise.studies.results import Result, stands
from flockwise.studies.searching import Tried, budget

Group = tuple[str, ...]  # the labels of one method


@dataclass(frozen=True)
class Try:
    """One proposal of a search and what it gave; None: it failed, with the error."""

    number: int
    settings: Tried
    value: float | None
    error: str = ""


def try_cell(base: Cell, group: Group, number: int, settings: Tried, directory: Path | None) -> Cell:
    """An ordinary cell; nothing that would look at test data is measured of it."""
    wanted = tune_of(base)
    content = {**base.content, **({"rounds": wanted.rounds} if wanted.rounds else {})}
    rounds = wanted.rounds or (base.config.rounds if base.config else 1)
    content["evaluation"] = {**content.get("evaluation", {}), "on": "validation", "every": rounds}
    spec = Table(base=base.spec.base, vary=base.spec.vary, show=Show(numbers=[wanted.number]))
    cell = Cell(
        base.table, _try_name(group, number), base.labels, wanted.seed, content, base.scale, spec=spec
    )
    return with_tuned(cell, settings, directory)


def on_record(base: Cell, group: Group, results: Sequence[Result], directory: Path | None) -> list[Try]:
    """The tries from the first one on that have a result."""
    found: list[Try] = []
    fields = tune_of(base).search.keys()
    while len(found) < budget(tune_of(base)):
        name = _try_name(group, len(found) + 1)
        mine = [
            result
            for result in results
            if (result.table, result.cell) == (base.table, name) and result.tuned.keys() == fields
        ]
        told = None
        for result in sorted(mine, key=lambda result: result.date, reverse=True):
            cell = try_cell(base, group, len(found) + 1, result.tuned, directory)
            told = told or told_of(cell, [result], len(found) + 1, directory)
        if told is None:
            break
        found.append(told)
    return found


def told_of(cell: Cell, results: Iterable[Result], number: int, directory: Path | None) -> Try | None:
    """What the newest result of a try says; one that failed too, since a failure is an answer."""
    key = (cell.table, cell.name, cell.seed)
    mine = [
        result
        for result in results
        if result.key == key
        and (result.error if cell.error else stands(replace(result, error=""), cell, directory))
    ]
    if not mine:
        return None
    result = max(mine, key=lambda result: result.date)
    spec = NumberSpec(of=cell.spec.show.numbers[0])
    value = value_of(result, spec.of, spec, cell)
    if result.error or value != value:
        return Try(number, dict(cell.tuned), None, result.error or f"{spec.of} was not measured")
    return Try(number, dict(cell.tuned), value)


def group_of(cell: Cell) -> Group:
    """Which method a cell is one of."""
    axes = tune_of(cell).by or sides(cell.spec)[0]
    return tuple(cell.labels[axis] for axis in axes)


def tune_of(cell: Cell) -> Tune:
    """How a cell is tuned."""
    assert cell.spec.tune is not None
    return cell.spec.tune


def _try_name(group: Group, number: int) -> str:
    return f"{', '.join(group) or 'all'}, try {number}"
