"""Small pictures side by side: one panel for each setting, so that many methods stay readable."""

from collections.abc import Sequence
from dataclasses import dataclass

from flockwise.pictures.fonts import WIDER_BOLD, fitted, width_of
from flockwise.pictures.picture import SOFT, Picture, Text

MARGIN, GAP, HEAD, LEAST = 12.0, 18.0, 34.0, 420.0
SLACK = 0.85  # of the room for a line of notes: a viewer without Helvetica takes a wider font


@dataclass(frozen=True)
class Figure:
    """Panels under one title, with notes; a page may lay the panels out itself."""

    title: str
    panels: Sequence[Picture]
    across: int = 1
    notes: Sequence[str] = ()

    def picture(self) -> Picture:
        """All of it as one picture: panels in rows of `across`, the title above, notes below."""
        wide, tall = max(panel.width for panel in self.panels), max(panel.height for panel in self.panels)
        columns = min(self.across, len(self.panels))
        below = HEAD + -(-len(self.panels) // columns) * (tall + GAP)
        width = max(2 * MARGIN + columns * wide + (columns - 1) * GAP, LEAST)
        room = SLACK * (width - 2 * MARGIN)
        lines = [line for note in self.notes for line in wrapped(note, room, 10)]
        picture = Picture(width, below + 13 * len(lines) + 4, self.title)
        title = fitted(self.title, (width - 2 * MARGIN) / WIDER_BOLD, 14, bold=True)
        picture.add(Text(MARGIN, 21, title, size=14, bold=True))
        for place, panel in enumerate(self.panels):
            x = MARGIN + place % columns * (wide + GAP)
            picture.put(panel, x, HEAD + place // columns * (tall + GAP))
        for number, line in enumerate(lines):
            picture.add(Text(MARGIN, below + 13 * number, line, fill=SOFT, size=10))
        return picture


def wrapped(words: str, room: float, size: float = 11.0) -> list[str]:
    """A text on as many lines as it needs."""
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, size) > room:
            lines.append(fitted(word, room, size))
        else:
            lines[-1] = fitted(longer, room, size)
    return lines
