"""Sorting many columns at once with minima and maxima of whole rows.

Batcher's merge exchange network (Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M), without the
exchanges that the wanted places do not depend on. A row is a long vector, so each exchange is two SIMD passes
of NumPy; up to about 64 rows this beats sorting each column.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from flockwise.types import Updates, Vector


@lru_cache(maxsize=256)
def exchanges(count: int, low: int, high: int) -> tuple[tuple[int, int], ...]:
    """Pairs (i, j), i < j, to put in order one after another so that places `low` to `high` are right."""
    wanted = set(range(low, high))
    kept: list[tuple[int, int]] = []
    for first, second in reversed(list(_all_exchanges(count))):
        if first in wanted or second in wanted:
            wanted |= {first, second}
            kept.append((first, second))
    return tuple(reversed(kept))


def sorted_rows(block: Updates, low: int, high: int, pool: list[Vector]) -> list[Vector]:
    """The sorted values of each column as rows; only places `low` to `high` are right.

    The block is left alone. `pool` holds len(block) + 1 vectors of at least the block's width to work in.
    """
    width = block.shape[1]
    free = [vector[:width] for vector in pool]
    rows: list[Vector] = list(block)
    borrowed = [True] * len(rows)  # still a row of the input
    for first, second in exchanges(len(block), low, high):
        smaller, larger = rows[first], rows[second]
        rows[first] = np.minimum(smaller, larger, out=free.pop())
        rows[second] = np.maximum(smaller, larger, out=free.pop() if borrowed[second] else larger)
        if not borrowed[first]:
            free.append(smaller)
        borrowed[first] = borrowed[second] = False
    return rows


def _all_exchanges(count: int) -> Iterator[tuple[int, int]]:
    top = 1 << max((count - 1).bit_length() - 1, 0)
    step = top if count > 1 else 0
    while step > 0:
        span, offset, distance = top, 0, step
        while True:
            for place in range(count - distance):
                if place & step == offset:
                    yield place, place + distance
            if span == step:
                break
            span, offset, distance = span // 2, step, span - step
        step //= 2
