"""A picture as PDF: one page, vectors, text in Helvetica that can be searched."""

import zlib

from flockwise.pictures.fonts import width_of
from flockwise.pictures.picture import PAPER, Circle, Line, Picture, Points, Polyline, Rect, Shape, Text
from flockwise.terminal import printable

_POINTS = 0.75  # a CSS pixel in points
_ROUND = 0.5523  # how far the handles of a quarter circle's curve reach
_SHARES = {"start": 0.0, "middle": 0.5, "end": 1.0}


def pdf(picture: Picture) -> bytes:
    """The whole file; letters that Windows' Latin code page lacks are shown as question marks."""
    wide, tall = picture.width * _POINTS, picture.height * _POINTS
    opacities = sorted({s.opacity for s in picture.shapes if isinstance(s, Polyline) and s.opacity < 1})
    states = {opacity: f"G{place}" for place, opacity in enumerate(opacities)}
    paper = Rect(0, 0, picture.width, picture.height, PAPER)
    # From here on as in SVG: pixels from the upper left corner.
    drawn = [f"{_POINTS} 0 0 -{_POINTS} 0 {_number(tall)} cm"]
    drawn += [line for shape in (paper, *picture.shapes) for line in _drawn(shape, states)]
    content = zlib.compress("\n".join(drawn).encode("cp1252", "replace"), 9)
    look = "".join(
        f"/{name} <</Type /ExtGState /ca {_number(o)} /CA {_number(o)}>> " for o, name in states.items()
    )
    fonts = "/F0 4 0 R /F1 5 0 R"
    font = "<</Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding>>"
    objects = [
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        f"<</Type /Page /Parent 2 0 R /MediaBox [0 0 {_number(wide)} {_number(tall)}] /Contents 6 0 R "
        f"/Resources <</Font <<{fonts}>> /ExtGState <<{look}>>>>>>".encode(),
        (font % "Helvetica").encode(),
        (font % "Helvetica-Bold").encode(),
        f"<</Length {len(content)} /Filter /FlateDecode>>\nstream\n".encode() + content + b"\nendstream",
    ]
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    """The objects, numbered from 1, and the table that says where each begins."""
    written, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size} /Root 1 0 R>>\n"
    return written + f"{tail}startxref\n{len(written)}\n%%EOF\n".encode()


def _drawn(shape: Shape, states: dict[float, str]) -> list[str]:
    match shape:
        case Rect():
            path = f"{_number(shape.x)} {_number(shape.y)} {_number(shape.wide)} {_number(shape.tall)} re"
            return _painted([path], shape.fill, shape.stroke, shape.width)
        case Line():
            path = _through([(shape.x1, shape.y1), (shape.x2, shape.y2)])
            return _painted([path], None, shape.stroke, shape.width)
        case Polyline():
            if not shape.points:
                return []
            path = _through(shape.points) + (" h" if shape.fill else "")
            lines = _painted([path], shape.fill, shape.stroke, shape.width)
            state = states.get(shape.opacity)
            return ["q", f"/{state} gs", *lines, "Q"] if state else lines
        case Circle():
            return _painted(_circle(shape.x, shape.y, shape.r), shape.fill, shape.stroke, shape.width)
        case Text():
            return _text(shape)


def _text(shape: Text) -> list[str]:
    words = printable(shape.words.replace("\n", " "))
    back = width_of(words, shape.size, shape.bold) * _SHARES[shape.anchor]
    if shape.turned:  # reads upwards: what was to the right is above
        matrix = f"0 -1 -1 0 {_number(shape.x)} {_number(shape.y + back)}"
    else:
        matrix = f"1 0 0 -1 {_number(shape.x - back)} {_number(shape.y)}"
    shown = words.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    font = "F1" if shape.bold else "F0"
    return [f"BT /{font} {_number(shape.size)} Tf {_colour(shape.fill)} rg {matrix} Tm ({shown}) Tj ET"]


def _painted(path: list[str], fill: str | None, stroke: str | None, width: float) -> list[str]:
    before = [f"{_colour(fill)} rg"] if fill else []
    before += [f"{_colour(stroke)} RG {_number(width)} w 1 j"] if stroke else []
    how = {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}
    return [*before, *path, how[bool(fill), bool(stroke)]]


def _through(points: Points) -> str:
    first, *rest = [f"{_number(x)} {_number(y)}" for x, y in points]
    return " ".join([f"{first} m", *(f"{point} l" for point in rest)])


def _circle(x: float, y: float, r: float) -> list[str]:
    k = r * _ROUND
    quarters = [
        (x + r, y + k, x + k, y + r, x, y + r), (x - k, y + r, x - r, y + k, x - r, y),
        (x - r, y - k, x - k, y - r, x, y - r), (x + k, y - r, x + r, y - k, x + r, y),
    ]  # fmt: skip
    return [
        f"{_number(x + r)} {_number(y)} m",
        *(" ".join(map(_number, quarter)) + " c" for quarter in quarters),
    ]


def _colour(colour: str) -> str:
    return " ".join(_number(int(colour[place : place + 2], 16) / 255) for place in (1, 3, 5))


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
