"""Tables as CSV that a spreadsheet may open without harm, and as JSON lines."""

import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

from flockwise.export.tables import Table
from flockwise.store.files import write_atomically

FORMULA = tuple("=+-@＝＋－＠")  # how a spreadsheet tells a formula from a text
CONTROL = ("\t", "\r", "\n")  # some take what follows for the start of a cell


def write_csv(found: dict[str, Table], out: Path) -> list[Path]:
    """One file for each table; texts that would be formulas get a quote in front."""
    return [write_table(out / f"{name}.csv", table) for name, table in found.items()]


def write_table(path: Path, table: Table) -> Path:
    """One table as a CSV file."""
    return _write(path, as_csv(table))


def as_csv(table: Table) -> str:
    """A table as the text of a CSV file."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow([cell(title) for title in table])
    rows.writerows([cell(value) for value in row] for row in zip(*table.values(), strict=True))
    return text.getvalue()


def write_json_lines(found: dict[str, Table], out: Path) -> list[Path]:
    """One file for each table, one object for each row."""
    written = []
    for name, table in found.items():
        rows = (dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True))
        written.append(
            _write(out / f"{name}.jsonl", "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows))
        )
    return written


def cell(value: Any) -> Any:
    """A value as a CSV cell: client names are anyone's text, so none may act as a formula."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str) and (value.startswith(CONTROL) or _seen(value).startswith(FORMULA)):
        return f"'{value}"
    return value


def _seen(text: str) -> str:
    """A text without what a spreadsheet may trim or not show at its start: blanks, controls, marks, quotes."""
    for place, sign in enumerate(text):
        if sign != '"' and unicodedata.category(sign) not in ("Zs", "Zl", "Zp", "Cc", "Cf"):
            return text[place:]
    return ""


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.encode("utf-8", "surrogatepass"))
    return path
