"""Several starting points from one model, for methods that need models that differ (IFCA)."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from flockwise.types import Vector


class _Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


def initial_models(
    arrays: Sequence[_Span], first: Vector, count: int, rng: np.random.Generator
) -> Iterator[Vector]:
    """`count` starting points of the same kind as `first`: its own numbers, shuffled inside each array.

    Where that changes nothing (a model of zeros), all of them get noise of standard deviation 0.1 instead.
    """
    shuffled = first.copy()
    for array in arrays:
        rng.shuffle(shuffled[array.start : array.stop])
    if np.array_equal(shuffled, first):
        yield from (first + rng.normal(0.0, 0.1, size=(count, len(first)))).astype(np.float32)
        return
    yield first
    for _ in range(count - 1):
        yield shuffled
        shuffled = shuffled.copy()
        for array in arrays:
            rng.shuffle(shuffled[array.start : array.stop])
