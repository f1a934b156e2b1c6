"""A table as HTML: marks, intervals, and the definition of each number where a reader points."""

from html import escape
from itertools import groupby

from flockwise.studies.entry import Entry
from flockwise.studies.notes import definition, notes_of
from flockwise.studies.showing import digits_of, mean_text, row_name, shortfall
from flockwise.studies.table import Column, StudyTable
from flockwise.terminal import printable

_WRAPS = {"best": "b", "tied": "i"}


def html_table(table: StudyTable) -> str:
    """The table and its notes."""
    digits = [digits_of(table, place) for place in range(len(table.columns))]
    rows = []
    for labels, row in zip(table.rows, table.entries, strict=True):
        cells = "".join(_entry(entry, digits[c], table.columns[c]) for c, entry in enumerate(row))
        name = safe(row_name(labels))
        rows.append(f'<tr><th scope="row"><button aria-pressed="false">{name}</button></th>{cells}</tr>')
    notes = "".join(f"<li>{safe(note)}</li>" for note in notes_of(table))
    body = f"<thead>{_head(table)}</thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="tablebox"><table>{body}</table></div><ul class="notes">{notes}</ul>'


def safe(words: str) -> str:
    """A text that is nothing but text on a page."""
    return escape("\n".join(printable(line) for line in words.splitlines()))


def _entry(entry: Entry, digits: int, column: Column) -> str:
    mean, lacks = safe(mean_text(entry, digits)), safe(shortfall(entry))
    wrap = _WRAPS.get(entry.mark)
    said = f"<{wrap}>{mean}</{wrap}>" if wrap else mean
    said += f"<small>{lacks}</small>" if lacks else ""
    kind = " ".join([entry.mark, "apart" if column.worst else ""]).strip()
    seeds = ", ".join(f"seed {seed}: {value:.6g}" for seed, value in entry.values.items())
    errors = "; ".join(f"seed {seed}: {error}" for seed, error in entry.failed.items())
    tip = "; ".join(part for part in (seeds, errors) if part)
    return f'<td class="{kind}" title="{safe(tip)}">{said}</td>'


def _head(table: StudyTable) -> str:
    """A line for each column axis and, if there are several numbers or no axes, one for the numbers."""
    lines = []
    for level, axis in enumerate(table.column_axes):
        cells = []
        keys = [(column.labels[: level + 1], column.worst) for column in table.columns]
        for _, group in groupby(range(len(keys)), key=lambda place: keys[place]):
            places = list(group)
            column = table.columns[places[0]]
            words = f"worst {axis}" if column.worst == axis else column.labels[level]
            kind = "apart" if column.worst else "group" if len(places) > 1 else ""
            cells.append(f'<th scope="col" class="{kind}" colspan="{len(places)}">{safe(words)}</th>')
        lines.append(cells)
    if len(table.numbers) > 1 or not lines:
        lines.append([f'<th scope="col">{_number(column)}</th>' for column in table.columns])
    first = safe(", ".join(table.row_axes))
    if len(table.numbers) == 1 and table.column_axes:
        first += f"{' · ' if first else ''}{_number(table.columns[0])}"
    corner = f'<th rowspan="{len(lines)}">{first}</th>'
    return "".join(
        f"<tr>{corner if number == 0 else ''}{''.join(cells)}</tr>" for number, cells in enumerate(lines)
    )


def _number(column: Column) -> str:
    return f'<abbr title="{safe(definition(column.spec))}">{safe(column.title)}</abbr>'
