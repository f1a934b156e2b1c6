"""docs/reliability.md from rows.toml and the counts on record: `python benchmarks/reliability/page.py`."""

from pathlib import Path
from typing import Any

from records import COUNTED, LOST, RECORDS, dropout, is_lost, kills_made
from run import ROOT, results, rows, words_of
from standing import standing

INTRO = """# What is promised, and how often it was tried

Every row is a threat, what is promised, and the newest count of cases in which the promise held, out of those tried: kills,
faults, flipped bits, hostile replies, inputs, not tests. `make reliability` runs the rows (`TIMES=20` tries twenty times as
many cases in the tests that draw them, which takes hours; each row is kept when it is done, and goes on from there).
`make fuzzing`, `make mutation`, `make kills` and `make soak` do what is on record besides. A row is run by `python
benchmarks/reliability/run.py` with what its column "how" says: the rows, and how many times as many cases as every change is
tried with. "Asked" is what we set out to do before we counted. What a row does not test is said in the row. Counts below
their total are shown first, then those below what was asked.

"""
LATER = (Path(__file__).parent / "page.md").read_text()


def page() -> str:
    """The page as Markdown."""
    newest = {number: found for number, found in map(_standing, rows()) if found}
    records = {name: make() for name, make in RECORDS.items()}
    counts = {row["row"]: _count(row, newest.get(row["row"]), records) for row in rows()}
    lines = [
        _line(row, counts[row["row"]], newest.get(row["row"]))
        for row in sorted(rows(), key=lambda row: _order(row, counts, newest.get(row["row"])))
    ]
    reported = sum(total > 0 for _, total in counts.values())
    whole = sum(0 < total == held for held, total in counts.values())
    full = [
        row["row"]
        for row in rows()
        if row.get("asked") and not _short(row, newest.get(row["row"])) and len(set(counts[row["row"]])) == 1
    ]
    often = [number for number, found in sorted(newest.items()) if found["times"] > 1]
    counted = sum(bool(row.get("asked")) for row in rows())
    told = (
        f"{reported} of {len(rows())} rows have a count, {whole} of them all of their cases. Of the {counted} rows for "
        f"which a number was asked that can be counted, {len(full)} have reached it{_list(full)}. With more cases than "
        f"every change is tried with {len(often)} rows were run{_list(often)}.{_waiting(counts, newest)}\n\n"
    )
    head = "| | threat | promise | held | asked | how | when | not tested here |\n|---|---|---|---|---|---|---|---|\n"
    parts = {name: text for name, (_, _, text) in records.items()}
    later = LATER.format(**parts, dropout=dropout())
    return INTRO + told + head + "\n".join(lines) + "\n" + _failures(newest) + "\n" + later


def _standing(row: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
    return row["row"], standing([found for found in results() if found["row"] == row["row"]])


def _waiting(counts: dict[int, tuple[int, int]], newest: dict[int, dict[str, Any]]) -> str:
    """Why rows have fewer cases than were asked, where nothing of what was tried failed."""
    those = [
        row["row"]
        for row in rows()
        if row.get("asked") and _short(row, newest.get(row["row"])) and len(set(counts[row["row"]])) == 1
    ]
    why = "have fewer cases than were asked, all of which held: what is left takes hours."
    return f" Rows {', '.join(map(str, those))} {why}" if those else ""


def _list(numbers: list[int]) -> str:
    return f" ({', '.join(map(str, numbers))})" if numbers else ""


def _count(
    row: dict[str, Any], found: dict[str, Any] | None, records: dict[str, tuple[int, int, str]]
) -> tuple[int, int]:
    """How often a row's promise held, of how often it was tried: its tests, and what is on record besides."""
    held, total = (found["passed"], found["total"]) if found else (0, 0)
    more = records[row["records"]] if "records" in row else (0, 0, "")
    return held + more[0], total + more[1]


def _order(
    row: dict[str, Any], counts: dict[int, tuple[int, int]], found: dict[str, Any] | None
) -> tuple[bool, bool, int]:
    held, total = counts[row["row"]]
    return 0 < total == held, not _short(row, found), row["row"]


def _counted(asked: dict[str, Any], found: dict[str, Any] | None) -> int | None:
    """The cases that count for what was asked, of tests or on record; None if the result does not say."""
    if "record" in asked:
        return COUNTED[asked["record"]]()
    if not found or "cases" not in found:
        return None
    return sum(
        number
        for test, number in found["cases"].items()
        if any(test.startswith(name) or test.endswith(f"::{name}") for name in asked["by"])
    )


def _short(row: dict[str, Any], found: dict[str, Any] | None) -> bool:
    """Whether fewer cases were tried than were asked for, or nobody knows."""
    counts = [(_counted(asked, found), asked["number"]) for asked in row.get("asked", ())]
    return any(counted is None or counted < number for counted, number in counts)


def _asked(row: dict[str, Any], found: dict[str, Any] | None) -> str:
    told = [row["asks"]] if "asks" in row else []
    tried = _counted({"by": row["counts"]}, found) if "counts" in row else None
    if tried is not None:
        told[0] += f": {tried:,} tried"
    for asked in row.get("asked", ()):
        counted = _counted(asked, found)
        if counted is None:
            told.append(f"{asked['number']:,} {asked['what']}, not counted apart")
        elif counted < asked["number"]:
            told.append(f"{counted:,} of the {asked['number']:,} {asked['what']} asked")
        else:
            told.append(f"{counted:,} {asked['what']}, {asked['number']:,} asked")
    for what, seen in (found or {}).get("measured", {}).items():
        told.append(
            f"{what}: median {seen['median']:g}, p95 {seen['p95']:g}, most {seen['most']:g} (n = {seen['n']})"
        )
    return "; ".join(told)


def _line(row: dict[str, Any], count: tuple[int, int], found: dict[str, Any] | None) -> str:
    held = f"{count[0]:,} of {count[1]:,}" if count[1] else "not run"
    made = [found, *found.get("again", ())] if found else []
    when = "; ".join(f"{each['date'][:10]}, `{each['commit'][:9]}`" for each in made)
    if found and is_lost(found):
        when += f", {LOST}"
    words = [words_of(row["row"], each["times"], each.get("only", "")) for each in made]
    how = "; ".join(f"`{' '.join(each)}`" for each in words)
    if not found and row.get("records") == "kills":
        how, when = kills_made()
    cells = (
        row["row"],
        row["threat"],
        row["promise"],
        held,
        _asked(row, found),
        how,
        when,
        row.get("missing", ""),
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _failures(newest: dict[int, dict[str, Any]]) -> str:
    failed = [(row, name) for row, found in sorted(newest.items()) for name in found["failed"]]
    if not failed:
        return ""
    lines = "\n".join(f"- row {row}: `{name}`" for row, name in failed)
    return f"\n## What did not hold\n\n{lines}\n"


if __name__ == "__main__":
    Path(ROOT / "docs" / "reliability.md").write_text(page())
