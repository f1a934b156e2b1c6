"""The kernels that take longest, in C++ where a compiler is found; each is None where the caller must do it.

Used for inputs of at least `SMALLEST` numbers and never below: what is compiled is decided by the input, not by
what happens to be in the cache, so that a run gives the same bits every time on a machine.
"""

from flockwise.kernels.native.calls import (
    closest_mean,
    fold,
    middle_mean,
    pair_sums,
    squared_lengths,
    weighted_sum,
)
from flockwise.kernels.native.loading import library, status

__all__ = [
    "closest_mean",
    "fold",
    "library",
    "middle_mean",
    "pair_sums",
    "squared_lengths",
    "status",
    "weighted_sum",
]
