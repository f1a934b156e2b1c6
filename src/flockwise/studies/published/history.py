"""What is told of older results: those replaced, those measured again, those that do not say what code they are of."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flockwise.studies.legacy import older_files
from flockwise.studies.published.measured import Measured, names

_MARK = "-committed-"  # in a file's name, before the commit it was first committed with


@dataclass(frozen=True)
class Replaced:
    """One number of a result that was overwritten once."""

    table: str
    cell: str
    seed: int
    number: str
    was: float
    commit: str


def replaced(folder: Path, scale: str) -> Iterator[Replaced]:
    """The numbers of the results below `folder`/replaced that were of this scale."""
    for path, content in older_files(folder / "replaced"):
        if content["scale"] != scale:
            continue
        commit = path.stem.partition(_MARK)[2]
        for number, value in content.get("values", {}).items():
            if value is not None:
                yield Replaced(content["table"], content["cell"], content["seed"], number, value, commit)


def again(measured: Measured) -> list[str]:
    """As a Markdown table: what a cell gave when it was measured again with the same seed; empty where none was."""
    newest = {result.key: result for result in measured.results}
    lines = []
    for old in measured.earlier:
        new = newest[old.key]
        for number in old.values.keys() & new.values.keys() - {"seconds"}:
            was, now = old.values[number], new.values[number]
            if was is not None and now is not None:
                told = "the same" if was == now else f"{now:.6g}"
                lines.append(f"| {old.table} | {old.cell} | {old.seed} | {number} | {was:.6g} | {old.commit[:7]} "
                             f"| {told} | {new.commit[:7]} |")  # fmt: skip
    if not lines:
        return []
    return [
        "| table | cell | seed | number | before | commit | now | commit |",
        "|---" * 8 + "|",
        *sorted(lines),
    ]


def without_commit(measured: Measured) -> list[str]:
    """Which results that count do not say what code they are of, as a Markdown list; empty where all do."""
    found: dict[tuple[str, int], list[str]] = {}
    for result in measured.results:
        if result.commit == "unknown":
            found.setdefault((result.table, result.seed), []).append(result.cell)
    cells = Counter(table for table, _ in names(measured.cells))
    return [
        f"- {table}, seed {seed}: {f'all {len(mine)} cells' if len(mine) == cells[table] > 1 else '; '.join(mine)}"
        for (table, seed), mine in found.items()
    ]


def told(folder: Path, scale: str, measured: Measured) -> list[str]:
    """As a Markdown table of the numbers that changed, means over seeds; nothing where none did."""
    found: dict[tuple[str, str, str, str], list[Replaced]] = {}
    for old in replaced(folder, scale):
        found.setdefault((old.table, old.cell, old.number, old.commit), []).append(old)
    lines = []
    for (table, cell, number, commit), olds in found.items():
        values = measured.values(table, cell, number)
        was = sum(old.was for old in olds) / len(olds)
        kept = [values[old.seed] for old in olds if old.seed in values]
        now = sum(kept) / len(kept) if kept else None
        if now is None or abs(now - was) > 1e-9:
            stands = "-" if now is None else f"{now:.4g}"
            lines.append(f"| {table} | {cell} | {number} | {was:.4g} | {commit} | {stands} | {len(olds)} |")
    if not lines:
        return []
    return [
        "| table | cell | number | first | committed with | now | seeds |",
        "|---|---|---|---|---|---|---|",
        *lines,
    ]
