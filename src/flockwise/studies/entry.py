"""One place of a table: what the seeds gave there, and what they did not give."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from flockwise.studies.cells import Cell
from flockwise.studies.file import NumberSpec
from flockwise.studies.reading import value_of
from flockwise.studies.results import Result
from flockwise.studies.statistics import Better, Mark, mean_and_half_width, worst_by_seed


@dataclass(frozen=True)
class Entry:
    """The values of a number in one row and column, seed by seed."""

    values: Mapping[int, float] = field(default_factory=dict)
    failed: Mapping[int, str] = field(default_factory=dict)  # seed: error
    missing: tuple[int, ...] = ()  # not run yet
    unmeasured: tuple[int, ...] = ()  # run, but the number has no value: a target that was not reached
    partial: bool = False  # the worst of fewer settings than other rows have
    mark: Mark = ""

    @property
    def left_out(self) -> bool:
        """Whether the study has no such cell."""
        return not (self.values or self.failed or self.missing or self.unmeasured)

    @property
    def wanted(self) -> int:
        """How many seeds the study asks for here."""
        return len(self.values) + len(self.failed) + len(self.missing) + len(self.unmeasured)

    @property
    def seeds(self) -> int:
        """How many seeds have a value."""
        return len(self.values)

    @cached_property
    def _summary(self) -> tuple[float, float | None]:
        return mean_and_half_width(list(self.values.values()))

    @property
    def mean(self) -> float:
        """Over the seeds that have a value; NaN without any."""
        return self._summary[0]

    @property
    def half_width(self) -> float | None:
        """Half of the mean's 95 % interval; None with fewer than two seeds."""
        return self._summary[1]

    @property
    def compared(self) -> Mapping[int, float] | None:
        """What marks are given for; None where the seeds that are left would flatter: some failed or never arrived."""
        return None if self.failed or self.unmeasured or self.partial else self.values


def entry_of(
    cells: Iterable[Cell], found: Mapping[tuple[str, str, int], Result], failures: Mapping[tuple[str, str, int], str],
    name: str, spec: NumberSpec,
) -> Entry:  # fmt: skip
    """What the results of some cells, one for each seed, say of a number."""
    values, failed, missing, unmeasured = {}, {}, [], []
    for cell in cells:
        result = found.get((cell.table, cell.name, cell.seed))
        error = failures.get((cell.table, cell.name, cell.seed))
        if result is not None:
            value = value_of(result, name, spec, cell)
            if abs(value) < float("inf"):
                values[cell.seed] = value
            else:
                unmeasured.append(cell.seed)
        elif error is not None:
            failed[cell.seed] = error
        else:
            missing.append(cell.seed)
    return Entry(values, failed, tuple(missing), tuple(unmeasured))


def worst_entry(entries: Sequence[Entry], better: Better, settings: int) -> Entry:
    """The worst over some entries, seed by seed; `settings`: how many the row with the most of them has."""
    there = [entry for entry in entries if not entry.left_out]
    values = worst_by_seed([entry.values for entry in there], better)
    failed = {seed: error for entry in there for seed, error in entry.failed.items()}
    missing = {seed for entry in there for seed in entry.missing} - failed.keys()
    unmeasured = {seed for entry in there for seed in entry.unmeasured} - failed.keys() - missing
    partial = len(there) < settings
    return Entry(values, failed, tuple(sorted(missing)), tuple(sorted(unmeasured)), partial)
