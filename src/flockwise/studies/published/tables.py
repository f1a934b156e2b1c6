"""The tables of a paper's page, as Markdown."""

from collections.abc import Iterable, Sequence

from flockwise.studies.published.claims import Judged
from flockwise.studies.published.verdicts import (
    AGREES,
    BETTER,
    DIFFERS,
    NOT_RUN,
    NOTHING,
    OPEN,
    WORSE,
    Row,
    counted,
)

KINDS = (
    WORSE,
    DIFFERS,
    AGREES,
    BETTER,
    f"{OPEN}: below",
    f"{OPEN}: near",
    f"{OPEN}: above",
    NOTHING,
    NOT_RUN,
)
HEADS = (
    "worse",
    "differs",
    "agrees",
    "better",
    "open, below",
    "open, near",
    "open, above",
    "tells nothing",
    "not run",
)


def summary(rows: Sequence[Row]) -> list[str]:
    """A line for each table: how many values, and what can be said of them."""
    lines = [f"| table | {' | '.join(HEADS)} |", "|---" * (1 + len(HEADS)) + "|"]
    tables = dict.fromkeys(row.table for row in rows if row.bar and row.bar.block.judged)
    for table in tables:
        counts = counted([row for row in rows if row.table == table])
        lines.append(f"| {table} | {' | '.join(str(counts[kind] or '') for kind in KINDS)} |")
    return lines if tables else []


def claims(judged: Iterable[Judged]) -> list[str]:
    """A line for each claim."""
    lines = ["| verdict | the paper says | where | what came out |", "|---|---|---|---|"]
    for one in judged:
        extra = [one.claim.vacuous, one.claim.note, one.claim.means and f"read as: {one.claim.means}"]
        told = "; ".join([one.told, *(words for words in extra if words)])
        place = one.claim.place + (f"; part: {one.claim.part}" if one.claim.part else "")
        lines.append(f"| **{one.verdict}** | {_cell(one.claim.says)} | {_cell(place)} | {_cell(told)} |")
    return lines


def details(rows: Sequence[Row], verdicts: bool = True) -> list[str]:
    """Every number, place by place of the paper; what was not run in one line a place, what only we have at the end."""
    parts = []
    for place in dict.fromkeys(row.bar.place for row in rows if row.bar):
        mine = [row for row in rows if row.bar and row.bar.place == place]
        parts += [f"### {place}", ""]
        shown = [row for row in mine if row.verdict != NOT_RUN]
        if shown:
            last = " verdict |" if verdicts else ""
            parts += [
                f"| cell | number | published | ours | difference | seeds |{last}",
                "|---" * (6 + verdicts) + "|",
            ]
            parts += [_line(row, verdicts) for row in shown]
            parts.append("")
        missing = [row for row in mine if row.verdict == NOT_RUN]
        if missing:
            told = "; ".join(f"{row.cell} ({row.number} {_published(row)})" for row in missing)
            parts += [f"Not run: {told}.", ""]
    ours = [row for row in rows if row.bar is None]
    if ours:
        parts += [
            "### Numbers that the paper does not print",
            "",
            "| table | cell | number | ours | seeds |",
            "|---|---|---|---|---|",
        ]
        parts += [
            f"| {row.table} | {row.cell} | {row.number} | {_ours(row)} | {len(row.values)} |" for row in ours
        ]
        parts.append("")
    return parts


def _line(row: Row, verdicts: bool) -> str:
    difference = "" if row.difference is None else f"{row.difference:+.4g}"
    last = f" {row.told} |" if verdicts else ""
    return f"| {row.cell} | {row.number} | {_published(row)} | {_ours(row)} | {difference} | {len(row.values) or ''} |{last}"


def _published(row: Row) -> str:
    if row.bar is None:
        return ""
    spread = "" if row.bar.spread is None else f" ± {row.bar.spread:g}"
    return f"{row.bar.value:g}{spread}"


def _ours(row: Row) -> str:
    if not row.values:
        return ""
    width = "" if row.half_width is None else f" ± {_number(row.half_width)}"
    return f"{_number(row.mean)}{width}"


def _number(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.4g}"


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")
