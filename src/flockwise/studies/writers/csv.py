"""A table as CSV, a row for each entry and seed: what other programs read."""

import csv
import io
from collections.abc import Sequence

from flockwise.export.text_files import cell
from flockwise.studies.table import StudyTable
from flockwise.studies.tuning import Search


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


def csv_tries(searches: Sequence[Search]) -> str:
    """What was tried while tuning, a row for each try."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    fields = list(dict.fromkeys(name for search in searches for one in search.tries for name in one.settings))
    rows.writerow(map(cell, ["table", "tuned", "try", *fields, "value", "error", "chosen"]))
    for search in searches:
        best = next((one.number for one in search.tries if one.settings == search.chosen), None)
        for one in search.tries:
            values = [one.settings.get(name, "") for name in fields]
            said = [search.table, search.label, one.number, *values, one.value, one.error, one.number == best]
            rows.writerow(map(cell, said))
    return text.getvalue()
