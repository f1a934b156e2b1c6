"""Verdicts by interval, by a rule that is fixed before any run and the same for all.

The difference of our mean and the published value has an interval: that of our mean over seeds (95 %, Student's t) and that
of the published mean, where the paper gives its spread over runs, added as independent errors are. A margin of one point of
accuracy counts as the same; what is counted must be exactly the same.

- agrees: the whole interval lies within the margin.
- better, worse: the whole interval lies above or below it.
- differs: the same of a baseline under attack, in either direction: a weaker attack is not a better method.
- open: the interval is not on one side, or a seed by itself lies on another, or was run and has no such number; or there
  are fewer than three seeds, which settle nothing.
- tells nothing: ours is not below the bar, and a run that does nothing clever passes it as well.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flockwise.studies.published.bars import Bar, Of
from flockwise.studies.published.measured import Measured, names
from flockwise.studies.reading import specs_of
from flockwise.studies.statistics import ENOUGH, mean_and_half_width

AGREES, BETTER, WORSE, DIFFERS, OPEN, NOTHING, NOT_RUN, UNMEASURED, SHOWN = (
    "agrees", "better", "worse", "differs", "open", "tells nothing", "not run", "not measured", "",
)  # fmt: skip
SEVERITY = (WORSE, DIFFERS, OPEN, BETTER, AGREES, NOTHING)  # what counts for a run that has several
_TINY = 1e-9


@dataclass(frozen=True)
class Row:
    """One number of one cell: published, ours, verdict; `side` is where ours lies, whatever can be said of it."""

    table: str
    cell: str
    number: str
    values: tuple[float, ...]  # one per seed
    bar: Bar | None = None
    verdict: str = SHOWN
    side: str = ""  # near, above, below
    outcome: str = ""
    silent: int = 0  # seeds that were run and have no such number

    @property
    def mean(self) -> float:
        """Our mean over seeds; NaN without any."""
        return mean_and_half_width(self.values)[0]

    @property
    def half_width(self) -> float | None:
        """Half of its 95 % interval; None for a single seed."""
        return mean_and_half_width(self.values)[1]

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        return self.mean - self.bar.value if self.bar and self.values else None

    @property
    def told(self) -> str:
        """The verdict in words."""
        if self.verdict != OPEN:
            return self.verdict
        where = {"near": "within the margin", "above": "above", "below": "below"}[self.side]
        if len(self.values) < ENOUGH:
            return f"open: {('one seed', 'two seeds')[len(self.values) - 1]}, {where}"
        return f"open: {where}, " + (
            "but a seed has no such number" if self.silent else "by less than seeds differ"
        )


def rows_of(measured: Measured, bars: Iterable[Bar]) -> list[Row]:
    """A row for each published number, in its order, then for each number that is only ours."""
    bars = list(bars)
    rows = [_judged(measured, bar) for bar in bars]
    known = {(bar.table, bar.cell, bar.number) for bar in bars}
    specs = {(cell.table, cell.name): specs_of(cell.spec) for cell in measured.cells}
    for table, cell in names(measured.cells):
        for number in specs[table, cell]:
            values = tuple(measured.values(table, cell, number).values())
            if values and (table, cell, number) not in known:
                rows.append(Row(table, cell, number, values, outcome=measured.outcome(table, cell)))
    return rows


def _judged(measured: Measured, bar: Bar) -> Row:
    place = (bar.table, bar.cell, bar.number)
    values, silent = tuple(measured.values(*place).values()), measured.silent(*place)
    row = Row(*place, values, bar, outcome=measured.outcome(bar.table, bar.cell), silent=silent)
    if not values:
        verdict = UNMEASURED if measured.was_run(bar.table, bar.cell) else NOT_RUN
        return Row(**{**vars(row), "verdict": verdict})
    if not bar.block.judged:
        return row
    side = _side(row.mean - bar.value, bar.margin)
    verdict = _verdict(row, bar, side)
    passed = trivial_value(measured, bar)
    if passed is not None and side != "below" and not bar.block.baseline_under_attack:
        verdict = NOTHING if passed >= bar.value - bar.margin - _TINY else verdict
    return Row(**{**vars(row), "verdict": verdict, "side": side})


def _side(difference: float, margin: float) -> str:
    return "near" if abs(difference) <= margin + _TINY else "above" if difference > 0 else "below"


def _verdict(row: Row, bar: Bar, side: str) -> str:
    if row.half_width is None or len(row.values) < ENOUGH or row.silent:
        return OPEN
    difference, width = row.mean - bar.value, math.hypot(row.half_width, bar.half_width)
    sides = {_side(difference - width, bar.margin), _side(difference + width, bar.margin)}
    sides |= {_side(value - bar.value, bar.margin) for value in row.values}  # what a seed flips is open
    if sides != {side}:
        return OPEN
    if side == "near":
        return AGREES
    return DIFFERS if bar.block.baseline_under_attack else BETTER if side == "above" else WORSE


def trivial_value(measured: Measured, bar: Bar) -> float | None:
    """What a run that does nothing clever gives, from the paper's file or from another cell; None if unknown."""
    trivial = bar.block.trivial
    if isinstance(trivial, Of):
        number = bar.number if trivial.number == "{}" else trivial.number
        values = measured.values(trivial.table, trivial.cell, number)
        return sum(values.values()) / len(values) if values else None
    return trivial


def counted(rows: Sequence[Row]) -> Counter[str]:
    """Verdicts by what runs gave: a value that one run gave counts once, with the worst of its verdicts.

    Cells whose runs gave the same to the last digit are one run. A verdict left open is counted by its side.
    """
    found: dict[tuple[str, str, tuple[float, ...]], list[Row]] = {}
    for place, row in enumerate(rows):
        if row.bar is None or not row.bar.block.judged:
            continue
        key = row.outcome if row.values else f"{place}"  # what was not run is not the same run
        found.setdefault((key, row.number, row.values), []).append(row)
    return Counter(_kind(min(same, key=_severity)) for same in found.values())


def _severity(row: Row) -> tuple[int, int]:
    order = SEVERITY.index(row.verdict) if row.verdict in SEVERITY else len(SEVERITY)
    return order, ("below", "above", "near", "").index(row.side)


def _kind(row: Row) -> str:
    return f"{OPEN}: {row.side}" if row.verdict == OPEN else row.verdict
