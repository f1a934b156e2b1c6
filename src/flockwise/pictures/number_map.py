"""A table as a heat map: each entry's number on a shade of its size, as large as the table needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from flockwise.pictures.fonts import WIDER, fitted, width_of
from flockwise.pictures.panels import wrapped
from flockwise.pictures.picture import FAINT, INK, PAPER, RULE, SOFT, Line, Picture, Rect, Text
from flockwise.pictures.scales import shade

ROW, LEAST, MOST, SIDE = 22.0, 62.0, 120.0, 200.0
BEST = "#e8590c"


@dataclass(frozen=True)
class Tile:
    """One entry: its size (None: nothing to colour), what is written on it, and its mark."""

    value: float | None
    words: str
    mark: str = ""  # best, tied
    tip: str = ""


def number_map(
    title: str, rows: Sequence[str], columns: Sequence[str], tiles: Sequence[Sequence[Tile]], apart: int = 0
) -> Picture:
    """Light is low, dark is high; the best has a thick frame, what is not distinguishable a thin one.

    The last `apart` columns, such as the worst of the others, stand a little aside.
    """
    left = min(max((width_of(row) for row in rows), default=0.0), SIDE) * WIDER + 8
    widest = max((width_of(tile.words, 10) for row in tiles for tile in row), default=0.0)
    names = max((width_of(column, 10) for column in columns), default=0.0)
    wide = max(min(max(widest + 12, names + 8), MOST), LEAST, widest + 12)
    heads = [wrapped(column, wide - 6, 10) for column in columns]
    top = 12.0 * max(map(len, heads), default=1) + 6
    width = left + len(columns) * wide + (10 if apart else 0)
    picture = Picture(width, top + ROW * len(rows) + 2, title)
    known = [tile.value for row in tiles for tile in row if tile.value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)

    def across(column: int) -> float:
        return left + column * wide + (10 if apart and column >= len(columns) - apart else 0)

    for c, head in enumerate(heads):
        for number, line in enumerate(head):
            down = top - 6 - 12 * (len(head) - 1 - number)
            picture.add(Text(across(c) + wide / 2, down, line, "middle", SOFT, 10))
    for r, row in enumerate(rows):
        picture.add(Text(left - 8, top + (r + 0.5) * ROW + 4, fitted(row, SIDE), "end"))
        for c, tile in enumerate(tiles[r]):
            _tile(picture, tile, across(c), top + r * ROW, wide, low, high)
    if apart:
        x = across(len(columns) - apart) - 5
        picture.add(Line(x, top, x, top + ROW * len(rows), RULE))
    return picture


def _tile(picture: Picture, tile: Tile, x: float, y: float, wide: float, low: float, high: float) -> None:
    if tile.value is None:
        picture.add(Rect(x + 0.5, y + 0.5, wide - 1, ROW - 1, None, RULE, 1.0, tile.tip))
        picture.add(Text(x + wide / 2, y + ROW / 2 + 3.5, tile.words, "middle", FAINT, 10))
        return
    share = (tile.value - low) / (high - low) if high > low else 0.5
    picture.add(Rect(x + 0.5, y + 0.5, wide - 1, ROW - 1, shade(share), tip=tile.tip))
    if tile.mark:
        frame = 2.5 if tile.mark == "best" else 1.0
        picture.add(Rect(x + 1.5, y + 1.5, wide - 3, ROW - 3, None, BEST, frame))
    ink = PAPER if share > 0.5 else INK
    picture.add(
        Text(x + wide / 2, y + ROW / 2 + 3.5, tile.words, "middle", ink, 10, bold=tile.mark == "best")
    )
