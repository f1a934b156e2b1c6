"""docs/reliability.md from rows.toml and the counts on record: `python benchmarks/reliability/page.py`."""

from pathlib import Path
from typing import Any

from run import ROOT, results, rows

INTRO = """# What is promised, and how often it was tried

Every row is a threat, what is promised, and the newest count of cases in which the promise held, out of those tried.
`make reliability` runs the rows (`--times 20` tries twenty times as many examples in the tests that draw them, which takes
hours; each row is kept when it is done). What a row does not test is said in the row. Counts below their total are shown
first.

"""


def page() -> str:
    """The page as Markdown."""
    newest = {found["row"]: found for found in results()}
    lines = [
        _line(row, newest.get(row["row"])) for row in sorted(rows(), key=lambda row: _order(row, newest))
    ]
    reported = sum(bool(newest.get(row["row"], {}).get("total")) for row in rows())
    whole = sum(_whole(newest.get(row["row"])) for row in rows())
    told = f"{reported} of {len(rows())} rows have a count, {whole} of them all of their cases.\n\n"
    head = "| | threat | promise | held | when | not tested here |\n|---|---|---|---|---|---|\n"
    return INTRO + told + head + "\n".join(lines) + "\n" + _failures(newest)


def _whole(found: dict[str, Any] | None) -> bool:
    return bool(found) and found["total"] > 0 and found["passed"] == found["total"]  # type: ignore[index]


def _order(row: dict[str, Any], newest: dict[int, dict[str, Any]]) -> tuple[bool, int]:
    return _whole(newest.get(row["row"])), row["row"]


def _line(row: dict[str, Any], found: dict[str, Any] | None) -> str:
    held = f"{found['passed']:,} of {found['total']:,}" if found else "not run"
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
