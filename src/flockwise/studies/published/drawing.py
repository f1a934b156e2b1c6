"""Published points beside ours: every published number against ours, and lines with the points that were published."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flockwise.pictures.fonts import fitted
from flockwise.pictures.picture import (
    INK,
    PAPER,
    RULE,
    SOFT,
    Circle,
    Line,
    Picture,
    Points,
    Polyline,
    Rect,
    Text,
)
from flockwise.pictures.scales import HUES, reach, ticks
from flockwise.studies.published.verdicts import Row

Placing = Callable[[float, float], tuple[float, float]]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 660, 420, 60, 200, 34, 44
_FEW = 12  # points that are drawn as such
SIDES = {
    "near": ("#2f8f5b", "within the margin"),
    "above": ("#1f6fb4", "above"),
    "below": ("#d1602b", "below"),
}


class Lines(NamedTuple):
    """A line of ours, what was published beside it, and half of the interval at each of its points (None: one seed)."""

    name: str
    ours: Points
    published: Points
    halves: Sequence[float | None] = ()


def against(title: str, rows: Sequence[Row], most: float) -> Picture:
    """Published across, ours up; on the line both are the same. Hollow: a baseline under attack; grey: tells nothing."""
    picture = _framed(title, "published", "ours")
    shown = [row for row in rows if row.bar is not None and row.values and row.side]
    low, high = reach([value for row in shown if row.bar for value in (row.bar.value, *row.values)])
    low, high = max(low, 0.0), min(high, most * 1.02)
    place = _placing((low, high), (low, high))
    _axes(picture, place, (low, high), (low, high))
    picture.add(Line(*place(low, low), *place(high, high), SOFT))
    for row in shown:
        assert row.bar is not None
        colour = "#a8b0b9" if row.verdict == "tells nothing" else SIDES[row.side][0]
        x, y = place(row.bar.value, row.mean)
        if row.half_width is not None:
            ends = (
                place(row.bar.value, row.mean - row.half_width),
                place(row.bar.value, row.mean + row.half_width),
            )
            picture.add(Line(*ends[0], *ends[1], colour))
        hollow = row.bar.block.baseline_under_attack
        tip = f"{row.cell}, {row.number}: published {row.bar.value:.4g}, ours {row.mean:.4g}"
        picture.add(Circle(x, y, 3.5, PAPER if hollow else colour, colour, tip=tip))
    legend = [(words, colour, False) for colour, words in SIDES.values()]
    legend += [("tells nothing", "#a8b0b9", False), ("baseline under attack", INK, True)]
    for number, (words, colour, hollow) in enumerate(legend):
        at = (WIDTH - RIGHT + 18, TOP + 8 + 18 * number)
        picture.add(Circle(*at, 3.5, PAPER if hollow else colour, colour), Text(at[0] + 12, at[1] + 4, words))
    return picture


def beside(
    title: str, x_label: str, y_label: str, lines: Sequence[Lines], y_range: tuple[float, float] | None = None,
) -> Picture:  # fmt: skip
    """Lines of ours with their name and the interval over seeds; hollow dots of the same colour are published.

    `y_range` cuts off the rest.
    """
    drawn = [(names, _cut(line, y_range)) for names, line in _distinct(lines)]
    everything = [point for _, line in drawn for point in (*_ends(line), *line.published)]
    xs = [x for x, _ in everything] or [0.0, 1.0]
    across = (min(xs), max(max(xs), min(xs) + 1e-9))
    up = y_range or reach(y for _, y in everything)
    place, picture = _placing(across, up), _framed(title, x_label, y_label)
    _axes(picture, place, across, up)
    colours = [HUES[number % len(HUES)] for number in range(len(drawn))]
    for (_, line), colour in zip(drawn, colours, strict=True):
        _intervals(picture, line, place, up, colour)
    at = TOP
    for (names, line), colour in zip(drawn, colours, strict=True):
        spots = [place(x, y) for x, y in line.ours]
        picture.add(Polyline(spots, colour, 2.0))
        picture.add(*(Circle(x, y, 3, colour) for x, y in spots if len(spots) <= _FEW))
        picture.add(*(Circle(*place(x, y), 4.5, PAPER, colour, 1.5) for x, y in line.published))
        for name in names:
            picture.add(
                Rect(WIDTH - RIGHT + 14, at, 10, 10, colour),
                Text(WIDTH - RIGHT + 29, at + 9, fitted(name, RIGHT - 33, 11)),
            )
            at += 18
    if any(line.published for _, line in drawn):
        picture.add(Circle(WIDTH - RIGHT + 19, at + 5, 4.5, PAPER, INK, 1.5))
        picture.add(Text(WIDTH - RIGHT + 29, at + 9, "published"))
    return picture


def _ends(line: Lines) -> Points:
    """The line's points and, where it has them, both ends of the intervals around them."""
    halves = [half or 0.0 for half in line.halves] or [0.0] * len(line.ours)
    return [(x, y + side * half) for (x, y), half in zip(line.ours, halves, strict=True) for side in (-1, 1)]


def _intervals(picture: Picture, line: Lines, place: Placing, up: tuple[float, float], colour: str) -> None:
    """A bar at each of few points, a band along many."""
    known = [(x, y, half) for (x, y), half in zip(line.ours, line.halves, strict=False) if half is not None]
    low = [place(x, max(y - half, up[0])) for x, y, half in known]
    high = [place(x, min(y + half, up[1])) for x, y, half in known]
    if len(line.ours) > _FEW and known:
        picture.add(Polyline([*high, *low[::-1]], fill=colour, opacity=0.18))
    elif known:
        picture.add(*(Line(*bottom, *top, colour, 1.5) for bottom, top in zip(low, high, strict=True)))


def _distinct(lines: Sequence[Lines]) -> list[tuple[list[str], Lines]]:
    """Lines that would hide each other are one, with all their names."""
    same: dict[tuple[tuple[float, float], ...], list[Lines]] = {}
    for line in lines:
        same.setdefault(tuple(line.ours), []).append(line)
    return [
        (
            [one.name for one in those],
            those[0]._replace(published=[p for one in those for p in one.published]),
        )
        for those in same.values()
    ]


def _cut(line: Lines, span: tuple[float, float] | None) -> Lines:
    """The line without what lies outside."""
    halves = line.halves or [None] * len(line.ours)
    kept = [(p, half) for p, half in zip(line.ours, halves, strict=True) if _inside([p], span)]
    return line._replace(
        ours=[point for point, _ in kept],
        halves=[half for _, half in kept],
        published=_inside(line.published, span),
    )


def _inside(points: Points, span: tuple[float, float] | None) -> Points:
    return [(x, y) for x, y in points if span is None or span[0] <= y <= span[1]]


def _placing(across: tuple[float, float], up: tuple[float, float]) -> Placing:
    def place(x: float, y: float) -> tuple[float, float]:
        right = LEFT + (x - across[0]) / (across[1] - across[0]) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - up[0]) / (up[1] - up[0]) * (HEIGHT - TOP - BOTTOM)
        return round(right, 1), round(down, 1)

    return place


def _framed(title: str, x_label: str, y_label: str) -> Picture:
    picture = Picture(WIDTH, HEIGHT, title)
    picture.add(Text(LEFT, 20, title, size=14, bold=True))
    picture.add(Text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 8, x_label, "middle"))
    picture.add(Text(14, TOP + (HEIGHT - TOP - BOTTOM) / 2, y_label, "middle", turned=True))
    return picture


def _axes(picture: Picture, place: Placing, across: tuple[float, float], up: tuple[float, float]) -> None:
    for y in ticks(*up):
        _, down = place(across[0], y)
        picture.add(Line(LEFT, down, WIDTH - RIGHT, down, RULE), Text(LEFT - 6, down + 4, f"{y:.4g}", "end"))
    for x in ticks(*across):
        picture.add(Text(place(x, up[0])[0], HEIGHT - BOTTOM + 16, f"{x:.4g}", "middle"))
