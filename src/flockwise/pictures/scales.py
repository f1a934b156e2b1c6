"""Axes and colours: round numbers, room around what is drawn, hues that differ, shades by size."""

import math
from collections.abc import Iterable

HUES = ("#1f6fb4", "#d1602b", "#2f8f5b", "#8a4fa3", "#b0413e", "#5c6570", "#b38a1d", "#3aa0a8")
_LIGHT, _DARK = (233, 240, 248), (24, 78, 137)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high, a few."""
    if not high - low > 1e-12 * max(1.0, abs(low)):
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = power * next(size for size in (1, 2, 5, 10, 20) if (high - low) / (power * size) <= most)
    return [
        number * step for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def padded(low: float, high: float) -> tuple[float, float]:
    """A little room below and above."""
    room = (high - low) * 0.05 or 0.5
    return low - room, high + room


def reach(values: Iterable[float]) -> tuple[float, float]:
    """From the lowest to the highest finite value, with room; 0 to 1 without any."""
    known = [value for value in values if math.isfinite(value)]
    return padded(min(known), max(known)) if known else (0.0, 1.0)


def shade(share: float) -> str:
    """A colour from light (0) to dark (1)."""
    mixed = (round(a + (b - a) * min(max(share, 0.0), 1.0)) for a, b in zip(_LIGHT, _DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def spread_out(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places near the wanted ones, in their order, at least `gap` apart and inside low to high if they fit."""
    order = sorted(range(len(places)), key=lambda place: places[place])
    found: list[float] = []
    for place in order:
        found.append(max(places[place], found[-1] + gap if found else low))
    limit = high
    for number in range(len(found) - 1, -1, -1):  # push back what ran over the end
        found[number] = min(found[number], limit)
        limit = found[number] - gap
    spread = [0.0] * len(places)
    for place, value in zip(order, found, strict=True):
        spread[place] = value
    return spread
