"""Columns of text as columns of 0 and 1, one for each value that was said: `ward=A` is 1 where `ward` is A.

Nothing is fitted: whoever writes the config says the values, so that they are the same for all clients and all months. The
names of the columns are the record: a raw table is encoded again by them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from flockwise.data.table_files import Table
from flockwise.errors import DataError

_SIGN = "="


def encoded(table: Table, values: Mapping[str, Sequence[str]], file: Path) -> Table:
    """The table with each of these columns in place of which there are columns of 0 and 1."""
    for name, names in values.items():
        known = [str(value) for value in names]
        if name not in table.column_names:
            raise DataError(f"{file}: data.encode = {name!r} is no column of it")
        if len(known) < 2 or len(set(known)) < len(known):
            raise DataError(
                f"data.encode.{name} = {known}: must be all values of the column, each once, at least two"
            )
        column = np.array([str(value).strip() for value in table[name]])
        odd = sorted(set(column) - set(known))
        if odd:
            raise DataError(
                f"{file}, column {name}: {odd[0][:40]!r} is none of the values it is encoded by, {', '.join(known)[:80]}"
            )
        table = table.replaced(
            name, {f"{name}{_SIGN}{value}": (column == value).astype(np.int64) for value in known}
        )
    return table


def encoded_like(table: Table, columns: Sequence[str], file: Path) -> Table:
    """A raw table with the columns of 0 and 1 that a model was trained on, as their names say."""
    values: dict[str, list[str]] = {}
    for column in columns:
        name, sign, value = column.partition(_SIGN)
        if sign and column not in table.column_names and name in table.column_names:
            values.setdefault(name, []).append(value)
    return encoded(table, values, file)
