"""The labels of all clients, as numbers of one kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.entries import Pair
from flockwise.data.sequences import IGNORED as IGNORED
from flockwise.data.sequences import is_ragged, longest, padded
from flockwise.data.tables import is_missing
from flockwise.errors import InputError


def label_arrays(
    brought: Sequence[Pair], numbers: bool, names: Sequence[str] = ()
) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """The labels of each entry as int64 (float32 if they are `numbers` to predict), and the names of text labels.

    `names` are those of all classes, in order, where somebody says them: a label is the number of its own.
    """
    if any(is_ragged(pair.y) for pair in brought) or _depths_differ(brought):
        length = max(longest(pair.y) for pair in brought)
        return [padded(p.y, IGNORED, length, f"{p.field} y").astype(np.int64) for p in brought], ()
    arrays = [_array(pair, numbers) for pair in brought]
    filled = [array for array in arrays if array.size]
    if names and not numbers and all(array.dtype.kind in "USbiu" for array in filled):
        found = [_among(array, names, pair.field) for array, pair in zip(arrays, brought, strict=True)]
        return found, tuple(names)
    if filled and all(array.dtype.kind in "US" for array in filled):
        return _named(arrays)
    return [_checked(array, pair.field, numbers) for array, pair in zip(arrays, brought, strict=True)], ()


def _depths_differ(brought: Sequence[Pair]) -> bool:
    """Whether some client's sequences of labels are longer than another's."""
    shapes = {np.shape(pair.y)[1:] for pair in brought if len(pair.y)}
    return len(shapes) > 1 and all(len(shape) == 1 for shape in shapes)


def _array(pair: Pair, numbers: bool) -> NDArray[Any]:
    array = np.asarray(pair.y)
    # Numbers to predict that are NaN are found by the data check, which can be told to let them pass.
    if array.dtype.kind in "OUS" or (array.dtype.kind == "f" and not numbers):
        _refuse_missing(array, pair)
    if array.dtype == object and array.size and all(isinstance(value, str) for value in array.ravel()):
        return array.astype(str)
    return array


def _refuse_missing(array: NDArray[Any], pair: Pair) -> None:
    """A row without a label would be of a class of its own, or make numbers of all others."""
    flat = np.isnan(array).ravel() if array.dtype.kind == "f" else map(_is_empty, array.ravel().tolist())
    first = next((place for place, missing in enumerate(flat) if missing), None)
    if first is not None:
        row = first // max(array.size // max(len(array), 1), 1)
        raise InputError(f"{pair.label(row)}: the label is missing; fill it in, or leave the row out")


def _is_empty(value: Any) -> bool:
    return not value.strip() if isinstance(value, str | bytes) else np.ndim(value) == 0 and is_missing(value)


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
    if y.dtype.kind in "US":
        raise InputError(
            f"{field} y = {str(y.ravel()[0])[:40]!r}: other clients' labels are numbers; must be of one kind for all"
        )
    if y.dtype.kind not in "iu":
        raise InputError(
            f"{field} y = {_shown(y)}: must be whole-number labels or names of classes; one-hot rows need argmax(1), "
            "numbers to predict need labels='numbers' (in a config, data.labels = \"numbers\")"
        )
    return y.astype(np.int64)


def _shown(y: NDArray[Any]) -> str:
    if y.dtype.kind != "O":
        return str(y.dtype)
    odd = next((value for value in y.ravel() if not isinstance(value, int | np.integer)), None)
    return f"{type(odd).__name__} {str(odd)[:40]!r}"
