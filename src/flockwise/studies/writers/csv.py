"""A table as CSV, a row for each entry and seed: what other programs read."""

import csv
import io

from flockwise.export.text_files import cell
from flockwise.studies.table import StudyTable


def csv_table(table: StudyTable) -> str:
    """Long form: the axes, the number, seed and value, and the entry's mean, interval and mark beside each."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    names = ["study", "table", *table.row_axes, *table.column_axes, "worst_over", "number"]
    rows.writerow(map(cell, [*names, "seed", "value", "error", "mean", "half_width_95", "seeds", "mark"]))
    for labels, row in zip(table.rows, table.entries, strict=True):
        for column, entry in zip(table.columns, row, strict=True):
            place = [table.study, table.name, *labels, *column.labels, column.worst, column.number]
            whole = [entry.mean if entry.values else "", entry.half_width, entry.seeds, entry.mark]
            seen: dict[int, tuple[float | str, str]] = {
                seed: (value, "") for seed, value in entry.values.items()
            }
            seen |= {seed: ("", error) for seed, error in entry.failed.items()}
            seen |= dict.fromkeys(entry.missing, ("", "not run"))
            seen |= dict.fromkeys(entry.unmeasured, ("", "no value"))
            for seed, (value, error) in sorted(seen.items()):
                rows.writerow(map(cell, [*place, seed, value, error, *whole]))
    return text.getvalue()
