"""A study's table: rows and columns of what is varied, each entry a mean over seeds, the best of each column marked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from flockwise.numbers import number_of
from flockwise.studies.cells import Cell
from flockwise.studies.entry import Entry
from flockwise.studies.file import NumberSpec, Table
from flockwise.studies.reading import specs_of
from flockwise.studies.results import Result

Labels = tuple[str, ...]
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Column:
    """A setting of the column axes, and a number of the runs there."""

    labels: Labels
    number: str
    spec: NumberSpec
    worst: str = ""  # the axis that this is the worst over

    @property
    def title(self) -> str:
        """What the number is called."""
        percent = ", %" if self.spec.percent else ""
        return (self.spec.title or number_of(self.spec.of).title) + percent

    @property
    def setting(self) -> str:
        """What the column axes say here."""
        return ", ".join(part for part in (*self.labels, f"worst {self.worst}" if self.worst else "") if part)


@dataclass(frozen=True)
class StudyTable:
    """Rows by columns of entries, with what is needed to read them."""

    study: str
    name: str
    title: str
    spec: Table
    row_axes: Labels
    column_axes: Labels
    rows: list[Labels]
    columns: list[Column]
    entries: list[list[Entry]]  # by row
    cells: list[Cell]
    results: list[Result]  # those that count, one for a cell and seed
    failures: Mapping[Key, str]

    @property
    def called(self) -> str:
        """What stands above it."""
        return self.title or (f"{self.study}, {self.name}" if self.name else self.study)

    @property
    def numbers(self) -> dict[str, NumberSpec]:
        """The numbers it shows."""
        return specs_of(self.spec)

    @property
    def settings(self) -> list[int]:
        """The columns of the first number, the worst left out: what methods are compared in."""
        first = self.columns[0].number
        return [c for c, column in enumerate(self.columns) if column.number == first and not column.worst]

    @property
    def missing(self) -> list[Cell]:
        """Cells that were not run yet."""
        there = {result.key for result in self.results} | self.failures.keys()
        return [cell for cell in self.cells if key_of(cell) not in there]

    @cached_property
    def labelled(self) -> list[tuple[Mapping[str, str], Result]]:
        """The results that count, each with the labels of its cell."""
        labels = {key_of(cell): cell.labels for cell in self.cells}
        return [(labels[result.key], result) for result in self.results]

    def column(self, place: int) -> list[Entry]:
        """A column's entries from the top."""
        return [row[place] for row in self.entries]


def key_of(cell: Cell) -> Key:
    """Which result is the cell's."""
    return cell.table, cell.name, cell.seed
