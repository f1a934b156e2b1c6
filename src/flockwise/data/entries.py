"""What a user may bring for one client, taken apart: training samples, and test samples where there are any."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from flockwise.data.tables import Target, Where, cells, from_table, is_table
from flockwise.errors import InputError

MUST = "must be (x, y), ((x, y), (x, y)), a table with target=..., a torch Dataset, or {'train': ..., 'test': ...}"


class Pair(NamedTuple):
    """Samples and labels as brought, not yet looked at."""

    x: Any
    y: Any
    field: str
    columns: tuple[str, ...] = ()
    cells: Where | None = None  # where the label of a row stands, in a table

    def label(self, row: int) -> str:
        """Where the label of a sample stands, for messages."""
        return f"{self.field} y[{row}]" if self.cells is None else self.cells(row)


def train_and_test(
    entry: Any, field: str, target: Target | None, features: Sequence[str] | None
) -> tuple[Pair, Pair | None]:
    """The training samples of an entry and its test samples, or None."""
    if isinstance(entry, Mapping) and "train" in entry:
        unknown = entry.keys() - {"train", "test"}
        if unknown:
            raise InputError(
                f"{field} = a mapping with {sorted(map(str, unknown))[0]!r}: may have train and test"
            )
        test = entry.get("test")
        train = _pair(entry["train"], f"{field} train", target, features)
        return train, None if test is None else _pair(test, f"{field} test", target, features)
    if _is_whole(entry):
        return _pair(entry, field, target, features), None
    if not isinstance(entry, tuple | list) or len(entry) != 2:
        raise InputError(f"{field} = {type(entry).__name__}: {MUST}")
    if all(map(_is_whole, entry)) or _is_nested(entry):
        test = _pair(entry[1], f"{field} test", target, features)
        return _pair(entry[0], f"{field} train", target, features), test
    return _pair(entry, field, target, features), None


def _is_whole(entry: Any) -> bool:
    """Whether this alone has samples and labels: a table, or a torch Dataset."""
    if isinstance(entry, list | tuple | np.ndarray | Mapping) or hasattr(entry, "__array__"):
        return is_table(entry) and not isinstance(entry, Mapping)
    return is_table(entry) or (
        hasattr(entry, "__getitem__") and hasattr(entry, "__len__") and not isinstance(entry, str)
    )


def _is_nested(entry: Any) -> bool:
    """A plain (x, y) whose x and y are lists of two numbers or images each looks nested but for its labels."""
    nested = all(isinstance(part, tuple | list) and len(part) == 2 for part in entry)
    return nested and all(_is_pair(*part) for part in entry)


def _is_pair(x: Any, y: Any) -> bool:
    """Whether these are samples and their labels, one each or a row each (of steps, or of several labels)."""
    if _depth(y) == 1:
        return _depth(x) != 1
    return _depth(y) in (-1, 2) and _depth(x) not in (0, 1) and len(x) == len(y)


def _depth(values: Any) -> int:
    """How many dimensions these have; -1 if they are of different lengths."""
    try:
        return np.ndim(values)
    except ValueError:
        return -1


def _pair(entry: Any, field: str, target: Target | None, features: Sequence[str] | None) -> Pair:
    if is_table(entry) and not isinstance(entry, Mapping):
        x, y, columns = from_table(entry, target, features, field)
        named = target if isinstance(target, str) else ", ".join(map(str, target or ()))
        return Pair(x, y, field, columns, cells(entry, named, field))
    if isinstance(entry, tuple | list) and len(entry) == 2:
        return Pair(entry[0], entry[1], field)
    if _is_whole(entry):
        return _from_dataset(entry, field)
    raise InputError(f"{field} = {type(entry).__name__}: {MUST}")


def _from_dataset(samples: Any, field: str) -> Pair:
    """All samples of a torch Dataset, or of anything that gives (x, y) by number."""
    held = [samples[number] for number in range(len(samples))]
    for number, sample in enumerate(held):
        if not isinstance(sample, tuple | list) or len(sample) != 2:
            raise InputError(f"{field}[{number}] = {type(sample).__name__}: must be a pair (x, y)")
    return Pair([np.asarray(x) for x, _ in held], [np.asarray(y).tolist() for _, y in held], field)
