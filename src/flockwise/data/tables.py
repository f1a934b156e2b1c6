"""Tables of any library (pandas, polars, pyarrow, Hugging Face) as arrays: feature columns, and a target column."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.plugins import nearest

Target: TypeAlias = str | Sequence[str]  # the column to learn, or several
Where: TypeAlias = Callable[[int], str]  # says where the value of a row stands
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none"})  # in a cell of numbers


def is_table(value: Any) -> bool:
    """Whether this is a table: it knows the names of its columns, and gives a column by its name."""
    return hasattr(value, "__getitem__") and (hasattr(value, "column_names") or hasattr(value, "columns"))


def columns_of(table: Any) -> list[str]:
    """The names of a table's columns."""
    names = table.column_names if hasattr(table, "column_names") else table.columns
    return [str(name) for name in names]


def from_table(
    table: Any, target: "Target | None", features: Sequence[str] | None, field: str
) -> tuple[Any, Any, tuple[str, ...]]:
    """x, y and the names of the feature columns; one column of arrays (images, sequences) is taken as it is.

    Several target columns are several labels, or numbers, of a row.
    """
    names = columns_of(table)
    if target is None:
        raise InputError(
            f"{field} = a table of {', '.join(names[:8])}: say which column is to be learned, as target=..."
        )
    wanted = [target] if isinstance(target, str) else [str(name) for name in target]
    if not wanted or len(set(wanted)) < len(wanted):
        raise InputError(f"target = {target!r}: must be a column, or several, each once")
    chosen = (
        [name for name in names if name not in wanted]
        if features is None
        else [str(name) for name in features]
    )
    for name in (*wanted, *chosen):
        if name not in names:
            raise InputError(f"{field} = a table without {name!r}: {nearest(name, names)}")
    if set(wanted) & set(chosen) or not chosen:
        raise InputError(
            f"{field} features = {chosen}: must be other columns than the target {target!r}, at least one"
        )
    if hasattr(table, "with_format"):  # of Hugging Face: images and lists come as arrays
        table = table.with_format("numpy")
    y = _plain(table[target]) if isinstance(target, str) else _labels(table, wanted, field)
    columns = [_plain(table[name]) for name in chosen]
    if len(chosen) == 1 and len(columns[0]) and np.ndim(columns[0][0]) > 0:
        return columns[0], y, ()
    numbers = [
        _numbers(column, cells(table, name, field)) for name, column in zip(chosen, columns, strict=True)
    ]
    whole = all(column.dtype.kind in "biu" for column in numbers)
    return np.stack(numbers, axis=1).astype(np.int64 if whole else np.float32), y, tuple(chosen)


def cells(table: Any, name: str, field: str) -> Where:
    """Says where a value of a column stands: in a file by the number of its row there."""
    numbers = getattr(table, "numbers", None)
    if isinstance(numbers, np.ndarray):
        return lambda row: f"{field}, row {numbers[row]}, column {name!r}"
    return lambda row: f"{field} column {name!r}[{row}]"


def is_missing(value: Any) -> bool:
    """Whether this is a library's way to say that there is no value."""
    nan = isinstance(value, float | np.floating) and value != value
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def _labels(table: Any, wanted: list[str], field: str) -> NDArray[Any]:
    """Several columns beside each other, which must be numbers."""
    columns = [_numbers(_plain(table[name]), cells(table, name, field)) for name in wanted]
    return np.stack(columns, axis=1)


def _plain(column: Any) -> NDArray[Any]:
    if hasattr(column, "to_numpy"):
        return np.asarray(column.to_numpy())
    values = column if isinstance(column, np.ndarray) else list(column)
    try:
        return np.asarray(values)
    except ValueError:  # of different lengths
        held = np.empty(len(values), dtype=object)
        held[:] = values
        return held


def _numbers(column: NDArray[Any], where: Where) -> NDArray[Any]:
    """A column of numbers; a value that is missing is NaN, which the data check finds."""
    if column.ndim != 1:
        raise InputError(f"{where(0)} = an array a row: must be the only feature column, or numbers")
    if column.dtype.kind in "biuf":
        return column
    if not len(column):
        return np.zeros(0)
    if column.dtype.kind == "O":
        column = np.array([np.nan if is_missing(value) else value for value in column], dtype=object)
        if all(isinstance(value, int | float | np.number | np.bool_) for value in column):
            return column.astype(np.float64)
    row = _first_odd(column.tolist())
    raise InputError(
        f"{where(row)} = {str(column[row])[:40]!r}: must be numbers; mend it, encode the column the same way for all "
        "clients, or leave it out of features"
    )


def _first_odd(values: list[Any]) -> int:
    """The row of the first value that is no number and is not written like one; else of the first that is text."""
    text = [row for row, value in enumerate(values) if not isinstance(value, int | float | np.number)]
    return next((row for row in text if not _reads_as_number(values[row])), text[0] if text else 0)


def _reads_as_number(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in MISSING:
        return True
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
