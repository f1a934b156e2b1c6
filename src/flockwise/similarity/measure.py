"""What a similarity is: a function of updates, and what its numbers mean.

A similarity is given the updates (or models) and names what else it asks for: `layers` as (start, stop) columns,
`center`, a point near all rows. One that follows from the cosines says how (`from_cosines`): these are kept up to date
from round to round.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from flockwise.errors import PluginError
from flockwise.plugins import running
from flockwise.registry import Piece, Registry, config_name, first_parameters
from flockwise.types import Square

Kind = Literal["similarity", "distance", "points"]
_GIVEN = frozenset({"layers", "center"})


@dataclass(frozen=True, eq=False, repr=False)
class Measure(Piece):
    """A way to compare clients: larger is more alike for a similarity, less for a distance."""

    kind: Kind = "similarity"
    top: float = 1.0  # the similarity of a client with itself
    bottom: float | None = None  # the smallest possible similarity, where there is one
    from_cosines: Callable[[Square], Square] | None = None
    sketches: bool = False  # whether sketches of updates give the same numbers, up to their error

    def compare(self, rows: Any, **offers: Any) -> Square:
        """The function on these rows and what it asks for, checked."""
        asked = {name: offers[name] for name in inspect.signature(self.function).parameters if name in offers}
        with running(f"similarity {self.name!r}"):
            found = self.function(rows, **asked)
        return checked_square(found, len(rows), self.name)

    def blur(self, square: Square, lost: float) -> float:
        """The variance that sketches add to a pair: errors of cosines and of distances (`kernels/fold.py`)."""
        if not lost:
            return 0.0
        others = square[~np.eye(len(square), dtype=bool)]
        if self.kind == "distance":
            return lost * float(np.mean(others**2)) / 2
        cosines = np.clip(others - (self.top - 1.0), -1.0, 1.0)
        return lost * float(np.mean((1.0 - cosines**2) ** 2))


SIMILARITIES: Registry[Measure] = Registry("flockwise.similarity")


def similarity(summary: str, **meaning: Any) -> Callable[[Callable[..., Square]], Measure]:
    """Makes a function of updates a similarity; `meaning` are fields of Measure."""
    return lambda function: SIMILARITIES.add(as_measure(function, summary=summary, **meaning))


def as_measure(function: Callable[..., Any], name: str | None = None, **meaning: Any) -> Measure:
    """A measure made of any function of updates; larger is more alike unless said otherwise."""
    if isinstance(function, Measure):
        return function
    meaning.setdefault("summary", (function.__doc__ or "a similarity of your own").strip().splitlines()[0])
    given = _GIVEN | first_parameters(function, 1)
    return Measure(name=name or config_name(function), function=function, given=given, **meaning)


def checked_square(square: Any, clients: int, name: str) -> Square:
    """A user's similarities as numbers of the right shape, or one line that says what came instead."""
    try:
        given = np.asarray(square)
        found = given.astype(np.float64) if given.dtype.kind in "biuf" else None
    except (TypeError, ValueError, OverflowError):  # rows of different lengths
        found = None
    if found is None:
        raise PluginError(
            f"similarity {name!r}: returned {_told(square)}: must be ({clients}, {clients}) numbers"
        )
    if found.shape != (clients, clients):
        raise PluginError(
            f"similarity {name!r}: returned shape {found.shape}, must be ({clients}, {clients})"
        )
    if np.isnan(found).any():
        raise PluginError(
            f"similarity {name!r}: returned NaN for {int(np.isnan(found).sum())} of {found.size} pairs"
        )
    if np.isinf(found).any():
        raise PluginError(
            f"similarity {name!r}: returned infinity for {int(np.isinf(found).sum())} of {found.size} pairs"
        )
    if np.abs(found - found.T).max(initial=0.0) > 1e-6 * np.abs(found).max(initial=0.0):
        raise PluginError(f"similarity {name!r}: is not symmetric; return (found + found.T) / 2")
    return found


def _told(square: Any) -> str:
    kind = getattr(square, "dtype", None)
    return f"{type(square).__name__}{'' if kind is None else f' of {kind}'}"
