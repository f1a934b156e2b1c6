"""Curves with bands: the lines that matter in colour with their names beside them, all others in grey."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flockwise.pictures.fonts import WIDER, WIDER_BOLD, fitted
from flockwise.pictures.picture import FAINT, INK, RULE, SOFT, Circle, Line, Picture, Polyline, Text
from flockwise.pictures.scales import reach, spread_out, ticks

Place = Callable[[float, float], tuple[float, float]]  # where a point of the data is drawn
LEFT, TOP, BOTTOM, NAMES = 44.0, 22.0, 34.0, 128.0
WIDE, TALL = 250.0, 170.0


@dataclass(frozen=True)
class Curve:
    """A line with a band around it; None: no band there."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    half: Sequence[float | None]


def curves_panel(
    title: str,
    x_label: str,
    curves: Sequence[Curve],
    colours: Mapping[str, str],
    y_range: tuple[float, float],
) -> Picture:
    """One panel; curves without a colour are grey, behind the others and without a band."""
    picture = Picture(LEFT + WIDE + NAMES, TOP + TALL + BOTTOM, title)
    xs = [x for curve in curves for x in curve.x] or [0.0, 1.0]
    first, last = min(xs), max(xs)
    low, high = y_range

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - first) / (last - first) if last > first else 0.5
        down = 1 - (min(max(y, low), high) - low) / (high - low)
        return LEFT + across * WIDE, TOP + down * TALL

    picture.add(Text(LEFT, 14, fitted(title, (WIDE + NAMES) / WIDER_BOLD, 11, bold=True), bold=True))
    for y in ticks(low, high, 5):
        down = place(first, y)[1]
        picture.add(
            Line(LEFT, down, LEFT + WIDE, down, RULE), Text(LEFT - 5, down + 3.5, f"{y:.4g}", "end", SOFT, 10)
        )
    for x in ticks(first, last, 5) if last > first else [first]:
        if last - first < 1 or x == round(x):
            picture.add(Text(place(x, low)[0], TOP + TALL + 14, f"{x:.4g}", "middle", SOFT, 10))
    picture.add(Text(LEFT + WIDE / 2, TOP + TALL + 28, x_label, "middle", SOFT, 10))
    grey = [curve for curve in curves if curve.name not in colours]
    bright = [curve for curve in curves if curve.name in colours]
    for curve in grey:
        _line(picture, [place(x, y) for x, y in zip(curve.x, curve.y, strict=True)], FAINT, 1.0, curve.name)
    for curve in bright:
        _band(picture, curve, place, colours[curve.name])
    for curve in bright:
        _line(
            picture,
            [place(*one) for one in zip(curve.x, curve.y, strict=True)],
            colours[curve.name],
            2.0,
            curve.name,
        )
    _names(picture, [curve for curve in bright if curve.y], place, colours)
    return picture


def curves_range(curves: Sequence[Curve], share: bool) -> tuple[float, float]:
    """What the panels have in common from bottom to top; shares may not reach beyond 0 and 1."""
    ends = [
        end
        for curve in curves
        for y, half in zip(curve.y, curve.half, strict=True)
        for end in (y - (half or 0.0), y + (half or 0.0))
    ]
    low, high = reach(min(max(end, 0.0), 1.0) for end in ends) if share else reach(ends)
    return (max(low, 0.0), min(high, 1.0)) if share else (low, high)


def _line(picture: Picture, spots: list[tuple[float, float]], colour: str, width: float, tip: str) -> None:
    picture.add(Polyline(spots, colour, width, tip=tip))
    if len(spots) == 1:  # a line of one point has no length
        picture.add(Circle(*spots[0], 2.5, colour, tip=tip))


def _band(picture: Picture, curve: Curve, place: Place, colour: str) -> None:
    known = [
        (x, y, half) for x, y, half in zip(curve.x, curve.y, curve.half, strict=True) if half is not None
    ]
    if len(known) < 2:
        return
    above = [place(x, y + half) for x, y, half in known]
    below = [place(x, y - half) for x, y, half in reversed(known)]
    picture.add(Polyline([*above, *below], fill=colour, opacity=0.15))


def _names(picture: Picture, curves: Sequence[Curve], place: Place, colours: Mapping[str, str]) -> None:
    """Beside the ends of the lines, moved apart where they would cover each other."""
    wanted = [place(curve.x[-1], curve.y[-1])[1] for curve in curves]
    for curve, at, down in zip(curves, wanted, spread_out(wanted, 11.5, TOP, TOP + TALL), strict=True):
        end = place(curve.x[-1], curve.y[-1])[0]
        picture.add(Line(end, at, LEFT + WIDE + 8, down, colours[curve.name], 0.7))
        words = fitted(curve.name, (NAMES - 12) / WIDER, 10)
        picture.add(Text(LEFT + WIDE + 11, down + 3.5, words, fill=colours.get(curve.name, INK), size=10))
