"""A table for the terminal."""

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from flockwise.studies.notes import notes_of
from flockwise.studies.showing import digits_of, entry_text, heads, row_name
from flockwise.studies.table import StudyTable
from flockwise.terminal import printable

_SIGNS = {"best": "*", "tied": "~", "": " "}
_STYLES = {"best": "bold green", "tied": "green", "": ""}


def terminal_table(table: StudyTable) -> Group:
    """The table with its notes, to be printed by rich; marks are signs too, for terminals without colours."""
    shown = Table(title=_text(table.called, "bold"), box=box.SIMPLE_HEAD, title_justify="left")
    shown.add_column(_text(", ".join(table.row_axes)), overflow="fold")
    for head in heads(table):
        shown.add_column(_text(head), justify="right", overflow="fold")
    digits = [digits_of(table, place) for place in range(len(table.columns))]
    for labels, row in zip(table.rows, table.entries, strict=True):
        entries = [
            _text(entry_text(entry, digits[place]) + _SIGNS[entry.mark], _STYLES[entry.mark])
            for place, entry in enumerate(row)
        ]
        shown.add_row(_text(row_name(labels)), *entries)
    return Group(shown, *(_text(note, "dim") for note in notes_of(table, best="*", tied="~")))


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style=style)  # a Text takes no markup from what it is given
