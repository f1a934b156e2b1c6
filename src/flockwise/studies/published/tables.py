"""The tables of a paper's page, as Markdown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from flockwise.studies.published.claims import Judged
from flockwise.studies.published.verdicts import (
    AGREES,
    BETTER,
    DIFFERS,
    NOT_RUN,
    NOTHING,
    OPEN,
    UNMEASURED,
    WORSE,
    Row,
    counted,
)

_OPEN = {f"{OPEN}: {side}": f"{OPEN}, {side}" for side in ("below", "near", "above")}
_SETTLED_LAST = (BETTER, AGREES, NOTHING, UNMEASURED, NOT_RUN)
_HEADS = {
    WORSE: WORSE,
    DIFFERS: DIFFERS,
    **_OPEN,
    **{kind: kind for kind in _SETTLED_LAST},
}  # what goes against first


def summary(rows: Sequence[Row]) -> list[str]:
    """A line for each table: how many values, and what can be said of them."""
    tables = dict.fromkeys(row.table for row in rows if row.bar and row.bar.block.judged)
    return counts(
        "table", {name: counted([row for row in rows if row.table == name]) for name in tables}, _HEADS
    )


def numbers(rows: Mapping[str, Sequence[Row]]) -> list[str]:
    """A line for each paper: how many of its printed values, and what can be said of them."""
    return counts("printed numbers", {name: counted(mine) for name, mine in rows.items()}, _HEADS)


def counts(head: str, found: Mapping[str, Counter[str]], heads: Mapping[str, str]) -> list[str]:
    """A line for each name, a column for each kind that there is, by its head; nothing where there is none."""
    shown = [kind for kind in heads if any(one[kind] for one in found.values())]
    found = {name: one for name, one in found.items() if any(one[kind] for kind in shown)}
    lines = [f"| {head} | {' | '.join(heads[kind] for kind in shown)} |", "|---|" + "---:|" * len(shown)]
    lines += [
        f"| {name} | {' | '.join(str(one[kind] or '') for kind in shown)} |" for name, one in found.items()
    ]
    return lines if shown else []


def claims(judged: Iterable[Judged]) -> list[str]:
    """A line for each claim."""
    lines = ["| verdict | the paper says | where | what came out |", "|---|---|---|---|"]
    for one in judged:
        extra = [one.claim.vacuous, one.claim.note, one.claim.means and f"read as: {one.claim.means}"]
        extra += [
            one.claim.added and f"added on {one.claim.added}, when earlier results were on record",
            one.in_print,
        ]
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
