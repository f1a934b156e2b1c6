"""docs/reliability.md from rows.toml and the counts on record: `python benchmarks/reliability/page.py`."""

from pathlib import Path
from typing import Any

from records import RECORDS, dropout
from run import ROOT, results, rows

INTRO = """# What is promised, and how often it was tried

Every row is a threat, what is promised, and the newest count of cases in which the promise held, out of those tried: kills,
faults, flipped bits, hostile replies, inputs, not tests. `make reliability` runs the rows (`TIMES=20` tries twenty times as
many cases in the tests that draw them, which takes hours; each row is kept when it is done, and goes on from there). What a
row does not test is said in the row. Counts below their total are shown first.

"""
LATER = (Path(__file__).parent / "page.md").read_text()


def page() -> str:
    """The page as Markdown."""
    newest = {found["row"]: found for found in results()}
    records = {name: make() for name, make in RECORDS.items()}
    counts = {row["row"]: _count(row, newest.get(row["row"]), records) for row in rows()}
    lines = [
        _line(row, counts[row["row"]], newest.get(row["row"]))
        for row in sorted(rows(), key=lambda row: _order(row, counts))
    ]
    reported = sum(total > 0 for _, total in counts.values())
    whole = sum(0 < total == held for held, total in counts.values())
    told = f"{reported} of {len(rows())} rows have a count, {whole} of them all of their cases.\n\n"
    head = "| | threat | promise | held | when | not tested here |\n|---|---|---|---|---|---|\n"
    parts = {name: text for name, (_, _, text) in records.items()}
    later = LATER.format(**parts, dropout=dropout())
    return INTRO + told + head + "\n".join(lines) + "\n" + _failures(newest) + "\n" + later


def _count(
    row: dict[str, Any], found: dict[str, Any] | None, records: dict[str, tuple[int, int, str]]
) -> tuple[int, int]:
    """How often a row's promise held, of how often it was tried: its tests, and what is on record besides."""
    held, total = (found["passed"], found["total"]) if found else (0, 0)
    more = records[row["records"]] if "records" in row else (0, 0, "")
    return held + more[0], total + more[1]


def _order(row: dict[str, Any], counts: dict[int, tuple[int, int]]) -> tuple[bool, int]:
    held, total = counts[row["row"]]
    return 0 < total == held, row["row"]


def _line(row: dict[str, Any], count: tuple[int, int], found: dict[str, Any] | None) -> str:
    held = f"{count[0]:,} of {count[1]:,}" if count[1] else "not run"
    when = f"{found['date'][:10]}, `{found['commit'][:9]}`" if found else ""
    return (
        f"| {row['row']} | {row['threat']} | {row['promise']} | {held} | {when} | {row.get('missing', '')} |"
    )


def _failures(newest: dict[int, dict[str, Any]]) -> str:
    failed = [(row, name) for row, found in sorted(newest.items()) for name in found["failed"]]
    if not failed:
        return ""
    lines = "\n".join(f"- row {row}: `{name}`" for row, name in failed)
    return f"\n## What did not hold\n\n{lines}\n"


if __name__ == "__main__":
    Path(ROOT / "docs" / "reliability.md").write_text(page())
