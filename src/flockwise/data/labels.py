"""The labels of all clients, as numbers of one kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.sequences import IGNORED as IGNORED
from flockwise.data.sequences import is_ragged, longest, padded
from flockwise.errors import InputError


def label_arrays(
    brought: Sequence[tuple[Any, str]], numbers: bool, names: Sequence[str] = ()
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The labels of each entry as int64 (float32 if they are `numbers` to predict), and the names of text labels.

    `names` are those of all classes, in order, where somebody says them: a label is the number of its own.
    """
    ragged = [is_ragged(y) for y, _ in brought]
    if any(ragged) or _depths_differ(brought):
        length = max(longest(y) for y, _ in brought)
        return [padded(y, IGNORED, length, f"{field} y").astype(np.int64) for y, field in brought], ()
    arrays = [_array(y, field) for y, field in brought]
    filled = [array for array in arrays if array.size]
    if names and not numbers and all(array.dtype.kind in "USbiu" for array in filled):
        fields = [field for _, field in brought]
        return [_among(array, names, field) for array, field in zip(arrays, fields, strict=True)], tuple(
            names
        )
    if filled and all(array.dtype.kind in "US" for array in filled):
        return _named(arrays)
    return [_checked(array, field, numbers) for array, (_, field) in zip(arrays, brought, strict=True)], ()


def _depths_differ(brought: Sequence[tuple[Any, str]]) -> bool:
    """Whether some client's sequences of labels are longer than another's."""
    shapes = {np.shape(y)[1:] for y, _ in brought if len(y)}
    return len(shapes) > 1 and all(len(shape) == 1 for shape in shapes)


def _array(y: Any, field: str) -> NDArray[Any]:
    array = np.asarray(y)
    if array.dtype == object and array.size and all(isinstance(value, str) for value in array.ravel()):
        return array.astype(str)
    return array


def _named(arrays: list[NDArray[Any]]) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    names = sorted({str(name) for array in arrays for name in np.unique(array)})
    number = {name: place for place, name in enumerate(names)}
    return [np.array([number[str(name)] for name in array], dtype=np.int64) for array in arrays], tuple(names)


def _among(array: NDArray[Any], names: Sequence[str], field: str) -> NDArray[np.int64]:
    """Labels as places among the names that were said; whole numbers go by how they are written."""
    place = {name: number for number, name in enumerate(names)}
    values = (array.astype(np.int64) if array.dtype.kind == "b" else array).ravel().astype(str)
    unknown = sorted(set(values) - set(place))
    if unknown:
        told = ", ".join(names)
        raise InputError(
            f"{field} y = {unknown[0][:40]!r}: must be one of the classes, {told if len(told) <= 80 else told[:77] + '...'}"
        )
    return np.array([place[value] for value in values], dtype=np.int64).reshape(array.shape)


def _checked(y: NDArray[Any], field: str, numbers: bool) -> NDArray[Any]:
    if not y.size:
        return y.astype(np.float32 if numbers else np.int64)
    if numbers:
        if y.dtype.kind not in "biuf":
            raise InputError(f"{field} y = {y.dtype}: must be numbers to predict")
        return y.astype(np.float32)
    if y.dtype.kind == "b":
        return y.astype(np.int64)
    if y.dtype.kind not in "iu":
        raise InputError(
            f"{field} y = {_shown(y)}: must be whole-number labels or names of classes; one-hot rows need argmax(1), "
            "numbers to predict need labels='numbers'"
        )
    return y.astype(np.int64)


def _shown(y: NDArray[Any]) -> str:
    if y.dtype.kind != "O":
        return str(y.dtype)
    odd = next((value for value in y.ravel() if not isinstance(value, int | np.integer)), None)
    return f"{type(odd).__name__} {str(odd)[:40]!r}"
