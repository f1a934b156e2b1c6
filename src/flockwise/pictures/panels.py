"""Small pictures side by side: one panel for each setting, so that many methods stay readable."""

from collections.abc import Sequence

from flockwise.pictures.fonts import fitted, width_of
from flockwise.pictures.picture import Picture, Text

MARGIN, GAP, HEAD = 12.0, 18.0, 34.0


def arranged(title: str, panels: Sequence[Picture], across: int, notes: Sequence[str] = ()) -> Picture:
    """Panels of equal size in rows of `across`, a title above, notes below."""
    wide, tall = max(panel.width for panel in panels), max(panel.height for panel in panels)
    columns = min(across, len(panels))
    rows = -(-len(panels) // columns)
    width = max(2 * MARGIN + columns * wide + (columns - 1) * GAP, 420.0)
    lines = [line for note in notes for line in wrapped(note, width - 2 * MARGIN, 10)]
    height = HEAD + rows * (tall + GAP) + 13 * len(lines) + 8
    picture = Picture(width, height, title)
    picture.add(Text(MARGIN, 21, fitted(title, width - 2 * MARGIN, 14, bold=True), size=14, bold=True))
    for place, panel in enumerate(panels):
        x = MARGIN + place % columns * (wide + GAP)
        picture.put(panel, x, HEAD + place // columns * (tall + GAP))
    for number, line in enumerate(lines):
        picture.add(Text(MARGIN, HEAD + rows * (tall + GAP) + 13 * number + 6, line, size=10, fill="#5c6570"))
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
