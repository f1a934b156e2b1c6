"""From results to verdicts: mean and confidence interval over seeds, the difference, reached or not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from flockwise.papers.cells import Cell, Means, Measure, Paper
from flockwise.papers.results import Result

NOT_RUN, REACHED, BETTER, MISSED, SHOWN, UNDEFINED = (
    "not run yet", "reached", "reached: better", "not reached", "no verdict", "not defined",
)  # fmt: skip
POINT = {"percent": 1.0, "share": 0.01, "fact": 0.0, "number": math.inf}


@dataclass(frozen=True)
class Row:
    """One measure of one cell: published, ours, verdict."""

    cell: Cell
    measure: Measure
    values: tuple[float, ...]  # one per seed
    verdict: str

    @property
    def mean(self) -> float | None:
        """Our mean over seeds."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % confidence interval of the mean (Student's t); None for a single seed."""
        count = len(self.values)
        if count < 2:
            return None
        from scipy.stats import t

        mean = sum(self.values) / count
        spread = math.sqrt(sum((value - mean) ** 2 for value in self.values) / (count - 1))
        return float(t.ppf(0.975, count - 1)) * spread / math.sqrt(count)

    @property
    def difference(self) -> float | None:
        """Ours minus the published one."""
        if self.mean is None or self.measure.published is None:
            return None
        return self.mean - self.measure.published


def rows_of(cells: Iterable[Cell], results: Iterable[Result], scale: str) -> list[Row]:
    """A row per measure, with the results of one scale."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.scale == scale:
            found.setdefault((result.table, result.cell), []).append(result)
    rows = []
    for cell in cells:
        for measure in cell.measures:
            held = [r.values.get(measure.name) for r in found.get((cell.table, cell.name), [])]
            # A number that one seed could not give is not replaced by the mean of the others.
            missing = any(value is None for value in held)
            values = () if missing else tuple(value for value in held if value is not None)
            rows.append(Row(cell, measure, values, UNDEFINED if missing else verdict(measure, values)))
    return rows


def verdict(measure: Measure, values: tuple[float, ...]) -> str:
    """Within a point of the published accuracy or better is reached, and says which; facts must be equal."""
    if not values:
        return NOT_RUN
    if measure.published is None or measure.kind == "number":
        return SHOWN
    difference = sum(values) / len(values) - measure.published
    if measure.kind == "fact":
        return REACHED if abs(difference) < 1e-9 else MISSED
    point = POINT[measure.kind] + 1e-9
    if difference < -point:
        return MISSED
    return REACHED if difference <= point else BETTER


def means_of(rows: Iterable[Row]) -> Means:
    """Our means by table, cell and measure, for claims and figures."""
    known = {(row.cell.table, row.cell.name, row.measure.name): row.mean for row in rows}
    return lambda table, cell, measure: known.get((table, cell, measure))


def claim_verdicts(paper: Paper, rows: list[Row]) -> list[tuple[str, str]]:
    """Each claim in words with its verdict."""
    means = means_of(rows)
    names = {None: NOT_RUN, True: REACHED, False: MISSED}
    return [(claim.text, names[claim.holds(means)]) for claim in paper.claims]
