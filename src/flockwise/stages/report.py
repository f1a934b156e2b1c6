"""What clients tell besides their updates: named arrays that a method asks for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from flockwise.errors import InputError

PLAIN_ARRAYS = (np.ndarray, np.memmap)  # what may come from a client; a masked array is neither
MOST_NUMBERS = 1 << 20  # in all arrays of one report together
Make = Callable[[np.ndarray, np.ndarray, int], Mapping[str, np.ndarray]]  # samples, labels, classes


@dataclass(frozen=True)
class Report:
    """The arrays of a report by name and shape, and how a simulated client makes them from its training data.

        label_counts = Report({"counts": (10,)}, lambda x, y, classes: {"counts": np.bincount(y, minlength=10)})

    With `of_latents` what is made of samples is made of what the last layer of the model that was sent sees of them instead.
    In a deployment clients make them as they like: names and shapes are the contract, which the gate holds them to.
    """

    shapes: Mapping[str, tuple[int, ...]]
    make: Make
    of_latents: bool = False

    def __post_init__(self) -> None:
        numbers = sum(int(np.prod(shape)) for shape in self.shapes.values())
        if not 0 < numbers <= MOST_NUMBERS:
            raise InputError(f"report: {numbers} numbers; must be from 1 to {MOST_NUMBERS}")

    def fault(self, report: object) -> str | None:
        """What is wrong with a client's report; None if it will do."""
        if not isinstance(report, Mapping) or set(report) != set(self.shapes):
            told = sorted(map(str, report))[:5] if isinstance(report, Mapping) else type(report).__name__
            return f"report holds {told!s:.80}, must hold {sorted(self.shapes)}"
        for name, shape in self.shapes.items():
            array = report[name]
            plain = type(array) in PLAIN_ARRAYS
            if not plain or array.dtype.kind not in "fiu" or array.shape != shape:
                what = f"{array.dtype} {array.shape}" if plain else type(array).__name__
                return f"report {name!r} is {what}, must be numbers of shape {shape}"
            if not np.isfinite(array).all():
                return f"report {name!r} holds NaN or infinite values"
        return None


# Where shapes follow from the data: the report for samples of so many numbers, of so many classes.
ReportOf = Callable[[int, int], Report]
