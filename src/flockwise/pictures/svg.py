"""A picture as SVG."""

from html import escape

from flockwise.pictures.picture import PAPER, Circle, Line, Picture, Polyline, Rect, Shape, Text
from flockwise.terminal import printable

_NAMESPACE = "http://www.w3.org/2000/svg"


def svg(picture: Picture) -> str:
    """The whole file; it can stand inside an HTML page as it is."""
    wide, tall = _number(picture.width), _number(picture.height)
    opening = (
        f'<svg xmlns="{_NAMESPACE}" viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}" role="img" '
        'font-family="Helvetica, Arial, sans-serif" font-size="11">'
    )
    name = [f"<title>{_words(picture.title)}</title>"] if picture.title else []
    paper = f'<rect width="{wide}" height="{tall}" fill="{PAPER}"/>'
    return "\n".join([opening, *name, paper, *map(_element, picture.shapes), "</svg>"]) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Rect():
            place = {"x": shape.x, "y": shape.y, "width": shape.wide, "height": shape.tall}
            return _tag("rect", place, _paint(shape.fill, shape.stroke, shape.width), _tip(shape.tip))
        case Line():
            place = {"x1": shape.x1, "y1": shape.y1, "x2": shape.x2, "y2": shape.y2}
            return _tag("line", place, _paint(None, shape.stroke, shape.width), _tip(shape.tip))
        case Circle():
            place = {"cx": shape.x, "cy": shape.y, "r": shape.r}
            return _tag("circle", place, _paint(shape.fill, shape.stroke, shape.width), _tip(shape.tip))
        case Polyline():
            points = " ".join(f"{_number(x)},{_number(y)}" for x, y in shape.points)
            paint = _paint(shape.fill, shape.stroke, shape.width)
            paint |= {"opacity": _number(shape.opacity)} if shape.opacity < 1 else {}
            return _tag(
                "polyline" if shape.fill is None else "polygon", {"points": points}, paint, _tip(shape.tip)
            )
        case Text():
            return _text(shape)


def _text(shape: Text) -> str:
    x, y = _number(shape.x), _number(shape.y)
    place = {"transform": f"translate({x} {y}) rotate(-90)"} if shape.turned else {"x": x, "y": y}
    look: dict[str, float | str] = {} if shape.size == 11 else {"font-size": _number(shape.size)}
    look |= {"font-weight": "bold"} if shape.bold else {}
    look |= {} if shape.anchor == "start" else {"text-anchor": shape.anchor}
    return _tag("text", place, {**look, "fill": shape.fill}, _words(shape.words))


def _paint(fill: str | None, stroke: str | None, width: float) -> dict[str, float | str]:
    paint: dict[str, float | str] = {"fill": fill or "none"}
    if stroke is not None:
        paint |= {"stroke": stroke} | ({"stroke-width": width} if width != 1 else {})
    return paint


def _tip(words: str) -> str:
    return f"<title>{_words(words)}</title>" if words else ""


def _tag(name: str, *parts: dict[str, float | str] | dict[str, str] | dict[str, float] | str) -> str:
    given = [part for part in parts if isinstance(part, dict)]
    inside = "".join(part for part in parts if isinstance(part, str))
    attributes = "".join(
        f' {key}="{value if isinstance(value, str) else _number(value)}"'
        for part in given
        for key, value in part.items()
    )
    return f"<{name}{attributes}>{inside}</{name}>" if inside else f"<{name}{attributes}/>"


def _words(words: str) -> str:
    return escape("\n".join(printable(line) for line in words.splitlines()))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
