"""An entry of a table as text, with as many digits as its number deserves; the same in every format."""

import math
from collections.abc import Iterable

from flockwise.numbers import number_of
from flockwise.studies.entry import Entry
from flockwise.studies.table import Column, StudyTable

MANY = 1e7  # from here on with a power of ten
LEFT_OUT, NOT_RUN, FAILED, NO_VALUE = "", "not run", "failed", "no value"


def digits_of(table: StudyTable, place: int) -> int:
    """Decimals of a column: those of a share or percent, otherwise by the size of the values of its number."""
    column = table.columns[place]
    known = [
        abs(entry.mean)
        for other, one in enumerate(table.columns)
        if one.number == column.number
        for entry in table.column(other)
        if math.isfinite(entry.mean)
    ]
    if column.spec.percent:
        return 1
    size = max(known, default=0.0)
    if number_of(column.spec.of).share or size <= 1:
        return 3
    return 2 if size < 10 else 1 if size < 1000 else 0


def figure(value: float, digits: int) -> str:
    """A number; what would not fit in a column is written with a power of ten."""
    return f"{value:.4g}" if abs(value) >= MANY else f"{value:.{digits}f}"


def mean_text(entry: Entry, digits: int, plus_minus: str = " ± ") -> str:
    """Mean and half width; a mean of one seed stands alone."""
    if not entry.values:
        return ""
    mean, half = entry.mean, entry.half_width
    if half is None:
        return figure(mean, digits)
    if not MANY <= abs(mean) < math.inf:
        return figure(mean, digits) + plus_minus + figure(half, digits)
    power = f"e+{math.floor(math.log10(abs(mean))):02}"  # the same for both, so that they can be compared
    return plus_minus.join(f"{value / float('1' + power):.3f}{power}" for value in (mean, half))


def shortfall(entry: Entry) -> str:
    """What an entry lacks, in a word: seeds that failed, were not run, or gave no value."""
    if entry.left_out:
        return LEFT_OUT
    lacking = ((FAILED, len(entry.failed)), (NOT_RUN, len(entry.missing)), (NO_VALUE, len(entry.unmeasured)))
    if not entry.values:
        return ", ".join(word for word, count in lacking if count)
    return ", ".join(f"{count} {word}" for word, count in lacking if count)


def entry_text(entry: Entry, digits: int, plus_minus: str = " ± ") -> str:
    """The whole entry on one line: mean, interval, and in brackets what is lacking."""
    mean, lacks = mean_text(entry, digits, plus_minus), shortfall(entry)
    return f"{mean} ({lacks})" if mean and lacks else mean or lacks


def heads(table: StudyTable) -> list[str]:
    """One line above each column: its setting and, where there are several numbers or no settings, the number."""
    return [head(column, len(table.numbers) > 1) for column in table.columns]


def head(column: Column, several: bool) -> str:
    """What stands above a column."""
    setting = column.setting
    return f"{setting}: {column.title}" if setting and several else setting or column.title


def row_name(labels: Iterable[str]) -> str:
    """What stands beside a row."""
    return ", ".join(labels) or "the run"
