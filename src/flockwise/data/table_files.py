"""Tables in files: CSV, read without any library, and Parquet, read with pyarrow."""

import csv
import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.tables import MISSING
from flockwise.errors import DataError

ENDINGS = (".csv", ".parquet")
LARGEST = 2_000_000_000  # bytes of one file


class Table:
    """Columns by name, as every other kind of table is read (see `tables.py`)."""

    def __init__(self, columns: dict[str, NDArray[Any]], numbers: NDArray[np.int64] | None = None) -> None:
        """`numbers` are those of its rows in the file, as a spreadsheet shows them."""
        self._columns = columns
        self.column_names = list(columns)
        self.numbers = np.arange(len(self)) + 1 if numbers is None else numbers

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def rows(self, chosen: NDArray[np.bool_]) -> "Table":
        """The chosen rows."""
        columns = {name: column[chosen] for name, column in self._columns.items()}
        return Table(columns, self.numbers[chosen])

    def replaced(self, name: str, by: dict[str, NDArray[Any]]) -> "Table":
        """The table with other columns in the place of one."""
        columns: dict[str, NDArray[Any]] = {}
        for key, column in self._columns.items():
            columns |= by if key == name else {key: column}
        return Table(columns, self.numbers)

    def without(self, name: str) -> "Table":
        """The table without a column."""
        rest = {key: column for key, column in self._columns.items() if key != name}
        return Table(rest, self.numbers)


def read_table(path: Path) -> Table:
    """The table in a file; DataError names the file and what is wrong with it."""
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(f"{path}: is larger than {LARGEST:,} bytes; divide it")
        return _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_csv(path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise DataError(
            f"{path}: cannot be read ({why}); CSV must be UTF-8 with a line of column names"
        ) from error


def _read_csv(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        lines = csv.reader(stream)
        names = [name.strip() for name in next(lines, [])]
        if not names or len(set(names)) < len(names) or not all(names):
            raise DataError(f"{path}: its first line must name every column, each once")
        _refuse_other_separators(path, names)
        numbered = [(number, row) for number, row in enumerate(lines, start=2) if row]
    for number, row in numbered:
        if len(row) != len(names):
            raise DataError(
                f"{path}, row {number}: has {len(row)} cells where {len(names)} columns are named"
            )
    columns = {name: _column([row[place] for _, row in numbered]) for place, name in enumerate(names)}
    return Table(columns, np.array([number for number, _ in numbered], dtype=np.int64))


def _refuse_other_separators(path: Path, names: list[str]) -> None:
    """Spreadsheets of many countries write semicolons, and then commas inside numbers."""
    for sign, word in ((";", "semicolons"), ("\t", "tabs")):
        if len(names) == 1 and sign in names[0]:
            raise DataError(
                f"{path}: has {word} between its columns; write it with commas, and with points in numbers"
            )


def _column(cells: list[str]) -> NDArray[Any]:
    """Whole numbers where all cells are, else numbers (NaN where there is none), else text."""
    try:
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    except (ValueError, OverflowError):
        pass
    try:
        return np.array([np.nan if cell.strip().lower() in MISSING else float(cell) for cell in cells])
    except ValueError:
        return np.array(cells, dtype=object)


def _read_parquet(path: Path) -> Table:
    try:
        arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    except ImportError as error:
        raise DataError(
            f"{path}: Parquet needs pyarrow; pip install 'flockwise[parquet]', or write CSV"
        ) from error
    try:
        found = parquet.read_table(path)
        return Table({name: found[name].to_numpy() for name in found.column_names})
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0][:200]})") from error
