"""Small line charts and heat maps."""

from collections.abc import Sequence

from flockwise.pictures.picture import PAPER, RULE, Circle, Line, Picture, Points, Polyline, Rect, Text
from flockwise.pictures.scales import HUES, padded, shade, ticks

FEW = 8  # points of a line that are marked one by one
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 660, 360, 60, 170, 34, 44


def line_chart(
    title: str, x_label: str, y_label: str, lines: Sequence[tuple[str, Points]],
    y_range: tuple[float, float] | None = None, marks: Sequence[tuple[float, float, str]] = (),
) -> str:  # fmt: skip
    """Named lines over a common x axis, as SVG; `marks` are points with a word beside them.

    Lines that would hide each other are drawn once; their names have one colour.
    """
    xs = [x for _, points in lines for x, _ in points] + [x for x, _, _ in marks] or [0.0]
    ys = [y for _, points in lines for _, y in points] + [y for _, y, _ in marks] or [0.0]
    low, high = y_range or padded(min(ys), max(ys))
    first, last = min(xs), max(max(xs), min(xs) + 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
        return round(across, 1), round(down, 1)

    picture = _framed(title, x_label, y_label)
    for y in ticks(low, high):
        _, down = place(first, y)
        picture.add(Line(LEFT, down, WIDTH - RIGHT, down, RULE), Text(LEFT - 6, down + 4, f"{y:.4g}", "end"))
    for x in ticks(first, last) if last - first > 1e-6 else [first]:
        picture.add(Text(place(x, low)[0], HEIGHT - BOTTOM + 16, f"{x:.4g}", "middle"))
    row = TOP
    for number, (names, points) in enumerate(_distinct(lines)):
        colour = HUES[number % len(HUES)]
        spots = [place(x, y) for x, y in points]
        picture.add(Polyline(spots, colour, 2.0))
        if len(spots) <= FEW:  # a line of one point has no length
            picture.add(*(Circle(x, y, 3, colour) for x, y in spots))
        for name in names:
            picture.add(
                Rect(WIDTH - RIGHT + 12, row, 10, 10, colour), Text(WIDTH - RIGHT + 27, row + 9, name)
            )
            row += 18
    for x, y, word in marks:
        across, down = place(x, y)
        picture.add(Circle(across, down, 4, HUES[2]), Text(across + 6, down - 5, word))
    return picture.svg()


def heat_map(
    title: str, x_label: str, y_label: str, values: Sequence[Sequence[float | None]],
    x_names: Sequence[str] = (), y_names: Sequence[str] = (),
) -> str:  # fmt: skip
    """A matrix as colours from light (low) to dark (high), as SVG; None and missing values stay white."""
    known = [v for row in values for v in row if v is not None and v == v]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    rows, columns = len(values), max((len(row) for row in values), default=1)
    wide, tall = (WIDTH - LEFT - RIGHT) / columns, (HEIGHT - TOP - BOTTOM) / max(rows, 1)
    picture = _framed(title, x_label, y_label)
    for r, row in enumerate(values):
        for c, value in enumerate(row):
            if value is None or value != value:
                continue
            share = (value - low) / (high - low) if high > low else 0.5
            picture.add(Rect(LEFT + c * wide, TOP + r * tall, wide + 0.3, tall + 0.3, shade(share)))
            if x_names:
                ink = PAPER if share > 0.55 else "#222222"
                middle = (LEFT + (c + 0.5) * wide, TOP + (r + 0.5) * tall + 4)
                picture.add(Text(*middle, f"{value:.3g}", "middle", ink))
    for c, name in enumerate(x_names):
        picture.add(Text(LEFT + (c + 0.5) * wide, HEIGHT - BOTTOM + 16, name, "middle"))
    for r, name in enumerate(y_names):
        picture.add(Text(LEFT - 6, TOP + (r + 0.5) * tall + 4, name, "end"))
    picture.add(Text(WIDTH - RIGHT + 12, TOP + 10, f"from {low:.3g} (light)"))
    picture.add(Text(WIDTH - RIGHT + 12, TOP + 28, f"to {high:.3g} (dark)"))
    return picture.svg()


def _framed(title: str, x_label: str, y_label: str) -> Picture:
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    picture = Picture(WIDTH, HEIGHT)
    picture.add(Text(LEFT, 20, title, size=14, bold=True))
    picture.add(Text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 8, x_label, "middle"))
    picture.add(Text(14, middle, y_label, "middle", turned=True))
    return picture


def _distinct(lines: Sequence[tuple[str, Points]]) -> list[tuple[list[str], Points]]:
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for name, points in lines:
        names.setdefault(tuple(points), []).append(name)
    return [(same, points) for points, same in names.items()]
