"""A table as Markdown; labels are shown as they are written, whatever they hold."""

import re

from flockwise.studies.notes import notes_of
from flockwise.studies.showing import digits_of, entry_text, heads, row_name
from flockwise.studies.table import StudyTable
from flockwise.terminal import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WRAPS = {"best": "**", "tied": "*", "": ""}


def markdown_table(table: StudyTable) -> str:
    """Title, table and notes."""
    digits = [digits_of(table, place) for place in range(len(table.columns))]
    lines = [
        f"### {plain(table.called)}",
        "",
        _line([plain(", ".join(table.row_axes)), *map(plain, heads(table))]),
        _line(["---", *("---:" for _ in table.columns)]),
    ]
    for labels, row in zip(table.rows, table.entries, strict=True):
        texts = (
            _marked(plain(entry_text(entry, digits[c])), _WRAPS[entry.mark]) for c, entry in enumerate(row)
        )
        lines.append(_line([plain(row_name(labels)), *texts]))
    notes = (f"- {plain(note)}" for note in notes_of(table))
    return "\n".join([*lines, "", *notes]) + "\n"


def plain(words: str) -> str:
    """A text that Markdown shows as it is: no tag, link, emphasis or further cell comes out of it."""
    return "".join(_ENTITIES.get(sign, sign) for sign in _SPECIAL.sub(r"\\\1", printable(words)))


def _marked(text: str, wrap: str) -> str:
    return f"{wrap}{text}{wrap}" if text else text


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
