"""Arrays with a value for each of very many clients, as what differs from a value that nearly all have, or from a round
before: of a million clients a few thousand train or move in a round.

A compact array says so in its dtype, three words: its own dtype, what it is based on, and the dtype of the values that
are kept. The base is "*" (none: all values are kept), "nan" or "0" (all others are that), or "@57" (all others are as
in round 57, which is not based on a round itself). Places are kept as steps from one to the next; all of it is deflated.
"""

import json
import math
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

MANY = 20_000  # clients; arrays of fewer are kept as they are
MOST_ENTRIES = 100_000_000
_FORM = re.compile(r"([<>|](?:b1|[iu][1248]|f[248])) (\*|nan|0|@[0-9]{1,9}) ([<>|](?:b1|[iu][1248]|f[248]))")
_CHANGED = 8  # a new base is kept when more than one client in so many differs from the old one

Kept = tuple[str, str, bytes]  # dtype, shape and data, as a row of the database has them


class Base(NamedTuple):
    """An array of an earlier round that later ones may be based on."""

    round: int
    values: np.ndarray


class Bases:
    """The newest arrays that are whole by themselves, of a database that is being written."""

    _QUERY = (
        "SELECT round, dtype, shape, data FROM arrays WHERE name = ? AND round < ? AND dtype LIKE '% * %' "
        "ORDER BY round DESC LIMIT 1"
    )

    def __init__(self, rows: Callable[[str, tuple[object, ...]], list[tuple[Any, ...]]]) -> None:
        self._rows, self._known = rows, {}  # type: ignore[var-annotated]

    def before(self, name: str, round: int) -> Callable[[], Base | None]:
        """What an array of this name and round may be based on."""

        def find() -> Base | None:
            if name not in self._known or self._known[name].round >= round:
                self._known.pop(name, None)
                for at, dtype, shape, data in self._rows(self._QUERY, (name, round)):
                    self._known[name] = Base(at, unpacked(dtype, shape, data, lambda _: np.zeros(0)))
            found: Base | None = self._known.get(name)
            return found

        return find

    def forget(self, written: Mapping[str, np.ndarray]) -> None:
        """Arrays of these names were written: there may be a newer base, or none."""
        for name in written:
            known = self._known.get(name)
            if known is not None and not _near(known.values, written[name]):
                del self._known[name]


def _near(base: np.ndarray, array: np.ndarray) -> bool:
    return base.shape == array.shape and int(np.count_nonzero(base != array)) * _CHANGED <= len(array)


def is_compact(dtype: object) -> bool:
    """Whether a dtype is that of a compact array."""
    return isinstance(dtype, str) and " " in dtype


def is_whole(dtype: object) -> bool:
    """Whether a compact array can be read by itself, and others based on it."""
    return is_compact(dtype) and " * " in str(dtype)


def kept(array: np.ndarray, base: Callable[[], Base | None]) -> Kept:
    """An array as it is kept; `base` is asked for only where it may help."""
    if array.ndim != 1 or len(array) < MANY or array.dtype.kind not in "biuf":
        return array.dtype.str, json.dumps(array.shape), array.tobytes()
    usual, word = (~np.isnan(array), "nan") if array.dtype.kind == "f" else (array != 0, "0")
    if usual.mean() * _CHANGED <= 1:
        return _changes(array, word, np.flatnonzero(usual))
    before = base() if array.dtype.kind in "iu" else None
    if before is not None and before.values.shape == array.shape:
        different = np.flatnonzero(before.values != array)
        if len(different) * _CHANGED <= len(array):
            return _changes(array, f"@{before.round}", different)
    return _written(array, "*", b"", _narrow(array))


def unpacked(dtype: str, shape: object, data: object, base: Callable[[int], np.ndarray]) -> np.ndarray:
    """The array; `base` gives that of an earlier round. A ValueError says what cannot be."""
    form = _FORM.fullmatch(dtype)
    count = _length(shape)
    if form is None or not isinstance(data, bytes):
        raise ValueError(f"its dtype is {dtype[:30]!r}")
    kind, word, narrow = np.dtype(form[1]), form[2], np.dtype(form[3])
    content = _inflated(data, count * (4 + narrow.itemsize))
    if word == "*":
        if len(content) != count * narrow.itemsize:
            raise ValueError(f"{len(content):,} bytes are not {count:,} values")
        return np.frombuffer(content, narrow).astype(kind)
    changes, rest = divmod(len(content), 4 + narrow.itemsize)
    places = np.cumsum(np.frombuffer(content[: 4 * changes], "<u4"), dtype=np.int64)
    if rest or (changes and places[-1] >= count):
        raise ValueError(f"{len(content):,} bytes are no changes of {count:,} values")
    if word.startswith("@"):
        values = base(int(word[1:])).astype(kind)
        if values.shape != (count,):
            raise ValueError(f"round {word[1:]} has not as many values")
    else:
        values = np.full(count, np.nan if word == "nan" else 0, dtype=kind)
    values[places] = np.frombuffer(content[4 * changes :], narrow)
    return values


def _changes(array: np.ndarray, word: str, places: np.ndarray) -> Kept:
    steps = np.diff(places, prepend=0).astype("<u4")
    return _written(array, word, steps.tobytes(), _narrow(array[places]))


def _written(array: np.ndarray, word: str, places: bytes, values: np.ndarray) -> Kept:
    form = f"{array.dtype.str} {word} {values.dtype.str}"
    return form, json.dumps(array.shape), zlib.compress(places + values.tobytes(), level=1)


def _narrow(values: np.ndarray) -> np.ndarray:
    """The same in as few bytes as hold them all."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    fitting = (
        kind for kind in ("|i1", "<i2", "<i4") if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max
    )
    return values.astype(next(fitting, values.dtype.str))


def _length(shape: object) -> int:
    sizes = json.loads(shape) if isinstance(shape, str) and len(shape) < 200 else None
    if not isinstance(sizes, list) or len(sizes) != 1 or type(sizes[0]) is not int:
        raise ValueError(f"its shape is {str(shape)[:40]!r}")
    if not 0 <= sizes[0] <= MOST_ENTRIES:
        raise ValueError(f"it has {sizes[0]:,} values")
    return int(math.prod(sizes))


def _inflated(data: bytes, most: int) -> bytes:
    """What was deflated; never more than it can be."""
    try:
        reader = zlib.decompressobj()
        content = reader.decompress(data, most + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(content) > most or not reader.eof:
        raise ValueError("it is longer than an array of its shape")
    return content
