"""Sets a validation part aside from a client's training samples."""

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError


def hold_out(
    indices: NDArray[np.int64], fraction: float, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(kept, set aside): a random `fraction`, rounded, is set aside; at least one sample is kept.

    Both keep the order of `indices`. A fraction of 0 sets nothing aside.
    """
    count = int(held_out(np.array([len(indices)]), fraction)[0])
    chosen = np.zeros(len(indices), dtype=bool)
    chosen[random.permutation(len(indices))[:count]] = True
    return indices[~chosen], indices[chosen]


def held_out(counts: NDArray[np.int64], fraction: float) -> NDArray[np.int64]:
    """How many of so many samples are set aside."""
    if not 0 <= fraction < 1:
        raise InputError(f"validation = {fraction}: must be 0 to below 1; 0.1 sets one sample in ten aside")
    wanted = np.rint(counts * float(fraction)).astype(np.int64)  # halves to even, as round() has them
    return np.asarray(np.minimum(wanted, np.maximum(counts - 1, 0)))
