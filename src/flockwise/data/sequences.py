"""Sequences of different lengths, padded to one array."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError

IGNORED = -100  # the label of a step that is not there: no loss and no metric counts it


def is_ragged(values: Any) -> bool:
    """Whether this is a list (or an array of objects) of arrays whose lengths differ."""
    if not isinstance(values, list | tuple | np.ndarray) or (
        isinstance(values, np.ndarray) and values.dtype != object
    ):
        return False
    if not len(values) or not all(_is_sequence(each) for each in values):
        return False
    return len({np.shape(each)[0] if np.ndim(each) else -1 for each in map(_array, values)}) > 1


def padded(values: Sequence[Any], filler: float, length: int, field: str) -> NDArray[Any]:
    """One array (sequences, length, ...) of all sequences, each filled up at its end."""
    arrays = [_array(each) for each in values]
    inner = {array.shape[1:] for array in arrays}
    if len(inner) > 1:
        raise InputError(f"{field} = sequences of steps of shapes {sorted(inner)}: must be of one shape")
    kind = np.result_type(*(array.dtype for array in arrays if len(array)), np.bool_)
    if kind.kind not in "biuf":
        raise InputError(
            f"{field} = sequences of {kind}: must be numbers; give each word or sign a number first"
        )
    kind = np.dtype(np.int64 if kind.kind in "biu" else np.float32)
    whole = np.full((len(arrays), length, *next(iter(inner))), filler, dtype=kind)
    for row, array in zip(whole, arrays, strict=True):
        row[: len(array)] = array
    return whole


def longest(values: Sequence[Any]) -> int:
    """The length of the longest sequence."""
    return max((len(each) for each in values), default=0)


def _is_sequence(each: Any) -> bool:
    return isinstance(each, list | tuple | np.ndarray) or (hasattr(each, "__array__") and np.ndim(each) > 0)


def _array(each: Any) -> NDArray[Any]:
    try:
        return np.asarray(each)
    except ValueError:  # ragged inside, too
        return np.asarray([None])
