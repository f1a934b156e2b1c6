"""A picture as a list of a few kinds of shapes, which SVG and PDF both know; no plotting library."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Points = Sequence[tuple[float, float]]
Anchor = Literal["start", "middle", "end"]
INK, SOFT, FAINT, RULE, PAPER = "#222222", "#5c6570", "#a8b0b9", "#dddddd", "#ffffff"


@dataclass(frozen=True)
class Rect:
    """A box; colours are #rrggbb, None for none."""

    x: float
    y: float
    wide: float
    tall: float
    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Line:
    """From one point to another."""

    x1: float
    y1: float
    x2: float
    y2: float
    stroke: str = INK
    width: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Polyline:
    """A line through points, or the area that they surround."""

    points: Points
    stroke: str | None = None
    width: float = 1.0
    fill: str | None = None
    opacity: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Circle:
    """A dot."""

    x: float
    y: float
    r: float
    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Text:
    """Words on one line; `turned` reads upwards."""

    x: float
    y: float
    words: str
    anchor: Anchor = "start"
    fill: str = INK
    size: float = 11.0
    bold: bool = False
    turned: bool = False


Shape = Rect | Line | Polyline | Circle | Text


@dataclass
class Picture:
    """Shapes from back to front on white paper; `tip`s of shapes are shown where a reader points."""

    width: float
    height: float
    title: str = ""
    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        """Put shapes in front of those there are."""
        self.shapes += shapes

    def put(self, other: "Picture", x: float, y: float) -> None:
        """Put another picture's shapes at a place of this one."""
        from flockwise.pictures.moving import moved

        self.shapes += [moved(shape, x, y) for shape in other.shapes]

    def svg(self) -> str:
        """As SVG text."""
        from flockwise.pictures.svg import svg

        return svg(self)

    def pdf(self) -> bytes:
        """As a PDF of one page, as large as the picture."""
        from flockwise.pictures.pdf import pdf

        return pdf(self)

    def save(self, path: Path) -> None:
        """Write it as what the name ends with, .svg or .pdf."""
        path.write_bytes(self.pdf() if path.suffix == ".pdf" else self.svg().encode())
