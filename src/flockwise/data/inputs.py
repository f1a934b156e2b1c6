"""The samples of all clients, as arrays of one kind: images, tokens, or numbers as they are."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from flockwise.data.sequences import is_ragged, longest, padded
from flockwise.errors import InputError

Inputs = Literal["auto", "images", "numbers", "tokens"]


class Joined(NamedTuple):
    """Samples of each entry; what brings them to [0, 1]; whether they are tokens, for an embedding."""

    arrays: list[NDArray[Any]]
    maximum: float
    tokens: bool


def input_arrays(brought: Sequence[tuple[Any, str]], inputs: Inputs, layout: str) -> Joined:
    """Only images are scaled: bytes of a table, or of a text, are numbers in their own right."""
    if inputs not in get_args(Inputs):
        raise InputError(f"inputs = {inputs!r}: must be one of {', '.join(get_args(Inputs))}")
    if any(is_ragged(x) for x, _ in brought) or _lengths_differ(brought):
        length = max(longest(x) for x, _ in brought)
        arrays = [padded(x, 0, length, field) for x, field in brought]
        whole = all(array.dtype.kind == "i" for array in arrays)
    else:
        arrays, whole = [_array(x, field) for x, field in brought], False
    kinds = {array.dtype.kind for array in arrays if len(array)}
    if inputs == "tokens" and not kinds <= set("iub"):
        raise InputError("inputs = 'tokens': must be whole numbers, each the number of a word or sign")
    if inputs == "tokens" or (inputs == "auto" and whole):
        return Joined([array.astype(np.int64) for array in arrays], 1.0, True)
    bytes_alone = all(array.dtype == np.uint8 for array in arrays if len(array))
    pictures = inputs == "images" or (inputs == "auto" and arrays[0].ndim in (3, 4) and bytes_alone)
    if pictures or arrays[0].ndim == 4:
        arrays = [_channels_last(array, layout) for array in arrays]
    if not (pictures and bytes_alone):
        arrays = [array.astype(np.float32) for array in arrays]
    return Joined(arrays, 255.0 if pictures and bytes_alone else 1.0, False)


def _channels_last(x: NDArray[Any], layout: str) -> NDArray[Any]:
    if x.ndim == 3:
        return x[..., np.newaxis]  # grey
    return np.moveaxis(x, 1, -1) if layout == "NCHW" and x.ndim == 4 else x


def _lengths_differ(brought: Sequence[tuple[Any, str]]) -> bool:
    """Whether each client's sequences are of one length, but not the same as another's."""
    if not all(isinstance(x, list | tuple) for x, _ in brought):
        return False  # arrays of different widths are a mistake, not sequences
    shapes = {np.shape(x)[1:] for x, _ in brought if len(x)}
    return len(shapes) > 1 and len({shape[1:] for shape in shapes}) == 1


def _array(x: Any, field: str) -> NDArray[Any]:
    try:
        array = np.asarray(x)
    except ValueError as error:
        raise InputError(
            f"{field} x = samples of different shapes: must be of one shape ({error})"
        ) from error
    if array.dtype.kind not in "biuf":
        odd = next(
            (value for value in array.ravel()[:10_000].tolist() if not isinstance(value, int | float)),
            array.dtype,
        )
        raise InputError(
            f"{field} x = {type(odd).__name__} {str(odd)[:40]!r}: must be numbers; encode it the same way for all clients"
        )
    if array.ndim < 2:
        raise InputError(f"{field} x = {array.shape}: must be (samples, ...), at least one number a sample")
    return array
