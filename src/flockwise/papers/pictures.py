"""Small line charts and heat maps as SVG, without a plotting library."""

import math
from collections.abc import Sequence
from html import escape

Points = Sequence[tuple[float, float]]
COLOURS = ("#1f6fb4", "#d1602b", "#2f8f5b", "#8a4fa3", "#b0413e", "#5c6570", "#b38a1d", "#3aa0a8")
FEW = 8  # points of a line that are marked one by one
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 660, 360, 60, 170, 34, 44


def line_chart(
    title: str, x_label: str, y_label: str, lines: Sequence[tuple[str, Points]],
    y_range: tuple[float, float] | None = None, marks: Sequence[tuple[float, float, str]] = (),
) -> str:  # fmt: skip
    """Named lines over a common x axis; `marks` are points with a word beside them.

    Lines that would hide each other are drawn once; their names have one colour.
    """
    xs = [x for _, points in lines for x, _ in points] + [x for x, _, _ in marks] or [0.0]
    ys = [y for _, points in lines for _, y in points] + [y for _, y, _ in marks] or [0.0]
    low, high = y_range or _padded(min(ys), max(ys))
    first, last = min(xs), max(max(xs), min(xs) + 1e-9)

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - first) / (last - first) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - (y - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
        return round(across, 1), round(down, 1)

    parts = _frame(title, x_label, y_label)
    for y in _ticks(low, high):
        _, down = place(first, y)
        parts.append(f'<path d="M{LEFT} {down}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, down + 4, f"{y:.4g}", "end"))
    for x in _ticks(first, last) if last - first > 1e-6 else [first]:
        parts.append(_text(place(x, low)[0], HEIGHT - BOTTOM + 16, f"{x:.4g}", "middle"))
    row = TOP
    for number, (names, points) in enumerate(_distinct(lines)):
        colour = COLOURS[number % len(COLOURS)]
        spots = " ".join("{},{}".format(*place(x, y)) for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{spots}"/>')
        if len(points) <= FEW:  # a line of one point has no length
            dots = [place(x, y) for x, y in points]
            parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in dots]
        for name in names:
            parts.append(f'<rect x="{WIDTH - RIGHT + 12}" y="{row}" width="10" height="10" fill="{colour}"/>')
            parts.append(_text(WIDTH - RIGHT + 27, row + 9, name))
            row += 18
    for x, y, word in marks:
        across, down = place(x, y)
        parts.append(f'<circle cx="{across}" cy="{down}" r="4" fill="#2f8f5b"/>')
        parts.append(_text(across + 6, down - 5, word))
    return _svg(parts, WIDTH, HEIGHT)


def heat_map(
    title: str, x_label: str, y_label: str, values: Sequence[Sequence[float | None]],
    x_names: Sequence[str] = (), y_names: Sequence[str] = (),
) -> str:  # fmt: skip
    """A matrix as colours from light (low) to dark (high); None and missing values stay white."""
    known = [v for row in values for v in row if v is not None and v == v]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    rows, columns = len(values), max((len(row) for row in values), default=1)
    wide, tall = (WIDTH - LEFT - RIGHT) / columns, (HEIGHT - TOP - BOTTOM) / max(rows, 1)
    parts = _frame(title, x_label, y_label)
    for r, row in enumerate(values):
        for c, value in enumerate(row):
            if value is None or value != value:
                continue
            share = (value - low) / (high - low) if high > low else 0.5
            colour = f"hsl(212 70% {94 - 62 * share:.0f}%)"
            parts.append(
                f'<rect x="{LEFT + c * wide:.1f}" y="{TOP + r * tall:.1f}" width="{wide + 0.3:.1f}" '
                f'height="{tall + 0.3:.1f}" fill="{colour}"/>'
            )
            if x_names:
                ink = "#fff" if share > 0.55 else "#222"
                middle = (LEFT + (c + 0.5) * wide, TOP + (r + 0.5) * tall + 4)
                parts.append(_text(*middle, f"{value:.3g}", "middle", ink))
    parts += [
        _text(LEFT + (c + 0.5) * wide, HEIGHT - BOTTOM + 16, n, "middle") for c, n in enumerate(x_names)
    ]
    parts += [_text(LEFT - 6, TOP + (r + 0.5) * tall + 4, n, "end") for r, n in enumerate(y_names)]
    parts.append(_text(WIDTH - RIGHT + 12, TOP + 10, f"from {low:.3g} (light)"))
    parts.append(_text(WIDTH - RIGHT + 12, TOP + 28, f"to {high:.3g} (dark)"))
    return _svg(parts, WIDTH, HEIGHT)


def _frame(title: str, x_label: str, y_label: str) -> list[str]:
    middle = TOP + (HEIGHT - TOP - BOTTOM) / 2
    return [
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="14" font-weight="bold" fill="#222">{escape(title)}</text>',
        _text(LEFT + (WIDTH - LEFT - RIGHT) / 2, HEIGHT - 8, x_label, "middle"),
        f'<text transform="translate(14 {middle}) rotate(-90)" text-anchor="middle" fill="#222">{escape(y_label)}</text>',
    ]


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#222") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'


def _svg(parts: list[str], width: int, height: int) -> str:
    size = f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([opening, *parts, "</svg>"]) + "\n"


def _distinct(lines: Sequence[tuple[str, Points]]) -> list[tuple[list[str], Points]]:
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for name, points in lines:
        names.setdefault(tuple(points), []).append(name)
    return [(same, points) for points, same in names.items()]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, a few."""
    power = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = power * next(size for size in (1, 2, 5, 10) if (high - low) / (power * size) <= 6)
    return [
        number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def _padded(low: float, high: float) -> tuple[float, float]:
    room = (high - low) * 0.05 or 0.5
    return low - room, high + room
