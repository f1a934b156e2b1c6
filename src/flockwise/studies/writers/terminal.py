"""A table for the terminal: as wide as the terminal is, in several parts where that is not enough."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from flockwise.studies.notes import notes_of
from flockwise.studies.showing import digits_of, entry_text, heads, row_name
from flockwise.studies.table import StudyTable
from flockwise.terminal import printable

_SIGNS = {"best": "*", "tied": "~", "": " "}
_STYLES = {"best": "bold green", "tied": "green", "": ""}
_HEAD = 18  # what the heading of a column may take; longer ones go on below
_NAME = 12  # what names of rows are left at least
_BESIDE = 3  # what a column takes beside its text
MOST_PARTS = 6


def terminal_table(table: StudyTable) -> "TerminalTable":
    """The table with its notes, to be printed by rich; marks are signs too, for terminals without colours.

    A number is never broken: columns that do not fit beside each other are parts below each other, setting by setting.
    Where these would be too many, the first number's are shown, and the page has the rest.
    """
    return TerminalTable(table)


@dataclass(frozen=True)
class TerminalTable:
    """A table that is laid out when it is known how wide the terminal is."""

    table: StudyTable

    @cached_property
    def _words(self) -> list[list[str]]:
        """The entries by row, each with the sign of its mark."""
        digits = [digits_of(self.table, place) for place in range(len(self.table.columns))]
        return [
            [entry_text(entry, digits[place]) + _SIGNS[entry.mark] for place, entry in enumerate(row)]
            for row in self.table.entries
        ]

    @cached_property
    def _names(self) -> int:
        names = (", ".join(self.table.row_axes), *map(row_name, self.table.rows))
        return max(cell_len(printable(name)) for name in names)

    @cached_property
    def _columns(self) -> list[int]:
        """How wide each column must be."""
        return [
            max([min(cell_len(printable(head)), _HEAD), *(cell_len(row[place]) for row in self._words)])
            for place, head in enumerate(heads(self.table))
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        table, width = self.table, options.max_width
        shown = list(range(len(table.columns)))
        parts = self._parts(shown, width)
        if len(parts) > MOST_PARTS:
            shown = [place for place in shown if table.columns[place].number == table.columns[0].number]
            parts = self._parts(shown, width)
        for number, places in enumerate(parts[:MOST_PARTS]):
            yield self._part(places, width, table.called if number == 0 else "")
        left = len(table.columns) - sum(map(len, parts[:MOST_PARTS]))
        if left:
            yield _text(
                f"{left} of {len(table.columns)} columns are too many for here: the page has them all.",
                "bold",
            )
        for note in notes_of(table, best="*", tied="~"):
            yield _text(note, "dim")

    def _parts(self, places: list[int], width: int) -> list[list[int]]:
        """The columns of each part; those of one setting stay together where they can."""
        room = width - 1 - min(self._names, max(width // 3, _NAME)) - _BESIDE
        parts: list[list[int]] = [[]]
        for _, setting in groupby(places, key=lambda place: self.table.columns[place].setting):
            together = list(setting)
            for some in [together] if self._wide(together) <= room else [[place] for place in together]:
                if parts[-1] and self._wide(parts[-1] + some) > room:
                    parts.append([])
                parts[-1] += some
        return parts

    def _part(self, places: list[int], width: int, title: str) -> Table:
        table, titles = self.table, heads(self.table)
        shown = Table(
            title=_text(title, "bold") if title else None, box=box.SIMPLE_HEAD, title_justify="left"
        )
        names = min(self._names, max(width - 1 - self._wide(places) - _BESIDE, _NAME))
        shown.add_column(_text(", ".join(table.row_axes)), overflow="fold", width=names)
        for place in places:
            shown.add_column(
                _text(titles[place]), justify="right", overflow="fold", width=self._columns[place]
            )
        for row, labels in enumerate(table.rows):
            marked = [_STYLES[table.entries[row][place].mark] for place in places]
            entries = [
                _text(self._words[row][place], style) for place, style in zip(places, marked, strict=True)
            ]
            shown.add_row(_text(row_name(labels)), *entries)
        return shown

    def _wide(self, places: list[int]) -> int:
        return sum(self._columns[place] + _BESIDE for place in places)


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style=style)  # a Text takes no markup from what it is given
