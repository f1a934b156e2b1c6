"""Strip plots: a dot for each seed, the mean as a bar across and the interval as a line along."""

from collections.abc import Sequence
from dataclasses import dataclass

from flockwise.pictures.fonts import WIDER_BOLD, fitted, room_for
from flockwise.pictures.picture import FAINT, INK, RULE, SOFT, Circle, Line, Picture, Text
from flockwise.pictures.scales import ticks

ROW, TOP, BOTTOM, WIDE, MOST = 15.0, 22.0, 22.0, 190.0, 150.0
MARKED, PLAIN = "#1f6fb4", "#7c8791"


@dataclass(frozen=True)
class Strip:
    """The values of one method in one setting."""

    name: str
    values: Sequence[float]
    mean: float | None = None
    half: float | None = None
    marked: bool = False
    lacks: str = ""  # what is said where there is nothing to draw


def strip_panel(title: str, strips: Sequence[Strip], x_range: tuple[float, float]) -> Picture:
    """One panel, methods from the top; those that are marked as the best in blue."""
    names = [fitted(strip.name, MOST, 10, bold=True) for strip in strips]
    left = max((room_for(name, 10, bold=True) for name in names), default=0.0) + 8
    tall = ROW * len(strips)
    picture = Picture(left + WIDE + 6, TOP + tall + BOTTOM, title)
    low, high = x_range

    def across(x: float) -> float:
        return left + (min(max(x, low), high) - low) / (high - low) * WIDE

    picture.add(Text(left, 14, fitted(title, WIDE / WIDER_BOLD, 11, bold=True), bold=True))
    for x in ticks(low, high, 5):
        picture.add(Line(across(x), TOP, across(x), TOP + tall, RULE))
        picture.add(Text(across(x), TOP + tall + 14, f"{x:.4g}", "middle", SOFT, 10))
    for number, (name, strip) in enumerate(zip(names, strips, strict=True)):
        middle = TOP + (number + 0.5) * ROW
        colour = MARKED if strip.marked else PLAIN
        ink = MARKED if strip.marked else INK
        picture.add(Text(left - 6, middle + 3.5, name, "end", ink, 10, bold=strip.marked))
        if strip.lacks and not strip.values:
            picture.add(Text(left + 4, middle + 3.5, strip.lacks, fill=FAINT, size=10))
        if strip.mean is not None and strip.half is not None:
            ends = across(strip.mean - strip.half), across(strip.mean + strip.half)
            picture.add(Line(ends[0], middle, ends[1], middle, colour, 1.5))
        for value in strip.values:
            picture.add(Circle(across(value), middle, 2.6, None, colour, tip=f"{strip.name}: {value:.4g}"))
        if strip.mean is not None:
            picture.add(Line(across(strip.mean), middle - 5, across(strip.mean), middle + 5, colour, 2.0))
    return picture
