"""A shape at another place."""

from dataclasses import replace

from flockwise.pictures.picture import Line, Polyline, Shape


def moved(shape: Shape, x: float, y: float) -> Shape:
    """The same shape further right and further down."""
    match shape:
        case Line():
            return replace(shape, x1=shape.x1 + x, y1=shape.y1 + y, x2=shape.x2 + x, y2=shape.y2 + y)
        case Polyline():
            return replace(shape, points=[(across + x, down + y) for across, down in shape.points])
        case _:
            return replace(shape, x=shape.x + x, y=shape.y + y)
