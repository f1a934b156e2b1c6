"""For every coordinate the mean of the values closest to the median, a block of columns at a time."""

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels import native
from flockwise.kernels.columns import NETWORK, each_network_block, each_sorted_block, one_zero
from flockwise.kernels.stored import Matrix, StoredRows, by_columns
from flockwise.types import Updates, Vector


def closest_to_median(rows: Matrix, members: NDArray[np.intp], count: int) -> Vector:
    """Of these rows, the mean of the `count` values of every column closest to its median; refuses NaN and Inf.

    Of two values equally far from the median the lower one is taken.
    """
    if isinstance(rows, StoredRows):
        return by_columns(lambda block: closest_to_median(block, members, count), rows)
    compiled = native.closest_mean(rows, members, count)
    if compiled is not None:
        return one_zero(compiled)
    if len(members) <= NETWORK:
        return each_network_block(
            rows, 0, len(members), lambda values: closest_of_rows(values, count), members
        )
    return each_sorted_block(rows, lambda block: closest_mean(block, count), members)


def closest_mean(block: Updates, count: int) -> Vector:
    """For each sorted line, the mean of the `count` values closest to its median."""
    width = block.shape[1]
    spare = width - count
    middle = block[:, (width - 1) // 2, None] * np.float32(0.5) + block[:, width // 2, None] * np.float32(0.5)
    # The closest values are neighbours in the sorted line. Value t gives way to value t + count while it is
    # farther from the median; the later the t, the less so, hence these bits say where the stretch starts.
    farther = middle - block[:, :spare] > block[:, count:] - middle
    kept = np.ones(block.shape, dtype=np.bool_)
    kept[:, :spare] &= ~farther
    kept[:, count:] &= farther
    mean = np.einsum("ij,ij->i", block, kept) * np.float32(1.0 / count)
    return np.asarray(mean)


def closest_of_rows(values: list[Vector], count: int) -> Vector:
    """The same for sorted values that come as rows."""
    width = len(values)
    spare = width - count
    middle = values[(width - 1) // 2] * np.float32(0.5) + values[width // 2] * np.float32(0.5)
    farther = [middle - values[place] > values[place + count] - middle for place in range(spare)]
    total = np.zeros_like(middle)
    zero = np.float32(0)
    for place, value in enumerate(values):
        if place < min(spare, count):
            total += np.where(farther[place], zero, value)
        elif place < spare:
            total += np.where(farther[place - count] ^ farther[place], value, zero)
        elif place < count:
            total += value
        else:
            total += np.where(farther[place - count], value, zero)
    return total * np.float32(1.0 / count)
