"""Write docs/leaderboard.md and the measured part of docs/which-method.md from the results of the leaderboard's study.

    python benchmarks/leaderboard/page.py
    python benchmarks/leaderboard/page.py --row mine=my_module:my_method    with a row of your own, after it was run

Runs nothing. What is against us comes first.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from flockwise.cli.study import more_rows
from flockwise.studies.entry import Entry
from flockwise.studies.handle import Study
from flockwise.studies.showing import digits_of, mean_text, shortfall
from flockwise.studies.table import StudyTable
from flockwise.studies.writers.markdown import plain

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
sys.path.insert(0, str(HERE))

from bars import OURS, Shortfall, ahead_of_ours, bars, behind  # noqa: E402

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
WRAPS = {"best": "**", "tied": "*", "": ""}
VERSIONS = ("first", "second", "third", "fourth")  # of our method, whose results were replaced
SHOWN = {
    "accuracy": "accuracy",
    "accuracy_worst_group": "worst group",
    "ari": "ARI",
    "false_alarms": "honest set apart",
}
# What an error says of a cell whose models are no numbers any more.
DIVERGED = ("NaN or infinite", "update has norm")
COSTS = {"client_seconds": "clients' seconds", "server_seconds": "server's seconds", "bytes_sent": "MB sent"}
VERDICTS = {True: "met", False: "**not met**", None: "not measured yet"}


def board(tables: dict[str, StudyTable]) -> str:
    """What the page shows."""
    parts = [_short(tables), _bars(tables), *(_table(table) for table in tables.values())]
    return "\n\n".join([*parts, *_costs(tables), _left(tables)])


def verdicts(tables: dict[str, StudyTable]) -> str:
    """Which method when: in each setting the best ones by accuracy; while there are too few seeds, by the mean alone."""
    lines = [
        "| where | seeds | best | not distinguishable from it | ours | ahead of ours, by a test of that pair alone |",
        "|---|---:|---|---|---:|---|",
    ]
    for table in tables.values():
        for place in table.settings:
            rows = [
                (labels[0], one)
                for labels, one in zip(table.rows, table.column(place), strict=True)
                if one.values and labels[0] not in table.spec.show.bounds
            ]
            ours = dict(rows).get(OURS)
            if ours is None:
                continue
            top = max(rows, key=lambda row: row[1].mean)
            best = [row for row, one in rows if one.mark == "best"] or [top[0]]
            tied = [row for row, one in rows if one.mark == "tied"]
            said = ", ".join(tied) or (
                "none" if any(one.mark for _, one in rows) else "too few seeds to tell"
            )
            where = f"{table.called}: {table.columns[place].setting}"
            mean = f"{', '.join(best)} {top[1].mean:.3f}"
            ahead = ", ".join(ahead_of_ours(table, place)) or "none"
            lines.append(_line([where, str(top[1].seeds), mean, said, f"{ours.mean:.3f}", ahead]))
    return "\n".join(lines) if len(lines) > 2 else "Not measured yet."


def _short(tables: dict[str, StudyTable]) -> str:
    found = [(table, one) for table in tables.values() for one in behind(table)]
    head = f"## Where `{OURS}` is not the best\n\n"
    if not any(_ours(table) for table in tables.values()):
        return head + "Nothing of ours was measured yet."
    if not found:
        return head + "In no column that has results."
    ahead = sum(one.ahead for _, one in found)
    sure = sum(one.sure for _, one in found)
    head += (
        f"In {len(found)} columns another contestant has a better mean. In {ahead} it is **ahead**: the 95 % interval of "
        "its paired gain is above 0, as if no other pair were looked at (of forty rows one may be so by chance). In "
        f"{sure} it is so with the level shared out over all rows of the column, too; with three seeds that test has hardly "
        "any power, so read the first count.\n\n"
    )
    lines = ["| where | number | ours | better | theirs | gain | |", "|---|---|---:|---|---:|---:|---|"]
    for table, one in sorted(found, key=_weight):
        cells = [
            f"{table.called}: {one.where}",
            one.number,
            f"{one.ours.mean:.4g}",
            one.best,
            f"{one.theirs.mean:.4g}",
            mean_text(one.gain, 3 if one.gain.mean < 1000 else 0),
            _verdict(one),
        ]
        lines.append(_line(cells))
    return head + "\n".join(lines)


def _weight(pair: tuple[StudyTable, Shortfall]) -> tuple[object, ...]:
    """What weighs most comes first: where another is ahead, accuracy before other numbers, the largest gain."""
    table, one = pair
    order = [column.title for column in table.columns]
    return not one.ahead, "bytes" in one.number, order.index(one.number), -one.gain.mean


def _verdict(one: Shortfall) -> str:
    if one.sure and one.ahead:
        return "**ahead**, of all rows too"
    seeds = f"{one.gain.seeds} seeds"
    return f"**ahead** ({seeds})" if one.ahead else f"by the mean; {seeds} do not tell"


def _bars(tables: dict[str, StudyTable]) -> str:
    found = sorted(bars(tables), key=lambda bar: (bar.met is not False, bar.met is None))
    lines = [_line([bar.asked, bar.measured, VERDICTS[bar.met]]) for bar in found]
    return "\n".join(["## The bars", "", "| asked | measured | |", "|---|---|---|", *lines])


def _table(table: StudyTable) -> str:
    """A table for each number: methods by settings."""
    seeds = len({cell.seed for cell in table.cells})
    most = max((one.seeds for row in table.entries for one in row), default=0)
    told = [
        f"## {table.called}",
        "",
        f"{most} of {seeds} seeds run. **Bold**: best of the column; *italic*: not distinguishable from it. "
        "A dash: the number has no value there (nobody is new, no kinds are known, the attack has no trigger).",
    ]
    for number in table.numbers:
        places = [place for place, column in enumerate(table.columns) if column.number == number]
        measured = [
            row
            for row in zip(table.rows, table.entries, strict=True)
            if any(row[1][p].values for p in places)
        ]
        if not measured:
            continue
        told += ["", f"### {table.columns[places[0]].title}", ""]
        told += [
            _line(["method", *(plain(table.columns[p].setting) for p in places)]),
            _line(["---", *["---:"] * len(places)]),
        ]
        for labels, entries in measured:
            told.append(_line([plain(labels[0]), *(_entry(table, entries[p], p, most) for p in places)]))
    return "\n".join(told)


def _ours(table: StudyTable) -> bool:
    return any(
        one.values
        for labels, row in zip(table.rows, table.entries, strict=True)
        if labels == (OURS,)
        for one in row
    )


def _entry(table: StudyTable, one: Entry, place: int, most: int) -> str:
    """Mean and interval; how many seeds, where others have more."""
    if one.values:
        lost = f", {len(one.failed)} diverged" if _diverged(one) else ""
        lacks = f" ({one.seeds} seeds{lost})" if one.seeds < most else ""
        text = mean_text(one, digits_of(table, place)) + lacks
    elif one.left_out or one.unmeasured:
        text = "-"
    else:
        text = "diverged" if _diverged(one) else shortfall(one)
    return f"{WRAPS[one.mark]}{plain(text)}{WRAPS[one.mark]}"


def _diverged(one: Entry) -> bool:
    return bool(one.failed) and all(any(sign in why for sign in DIVERGED) for why in one.failed.values())


def _costs(tables: dict[str, StudyTable]) -> list[str]:
    """What methods cost in the first table, from the results that say who took how long."""
    table = next(iter(tables.values()))
    costs: dict[str, list[list[float]]] = {}
    for labels, result in table.labelled:
        known = [result.values.get(name) for name in COSTS]
        if None not in known:
            costs.setdefault(labels["method"], []).append([float(value or 0.0) for value in known])
    if not costs:
        return []
    told = [
        "## What it costs",
        "",
        f"{table.called}: means over the results that have these numbers (of later runs), 20 rounds, on one core that was "
        "shared with other work: compare rows, not levels. Clients: training and answering, one after the other. Server: "
        "planning, comparing, averaging, judging.",
        "",
        _line(["method", "results", *COSTS.values()]),
        _line(["---", *["---:"] * (len(COSTS) + 1)]),
    ]
    for (method,) in table.rows:
        if method in costs:
            clients, server, sent = np.mean(costs[method], axis=0)
            numbers = [f"{clients:.2f}", f"{server:.2f}", f"{sent / 1e6:.0f}"]
            told.append(_line([plain(method), str(len(costs[method])), *numbers]))
    return ["\n".join(told)]


def replaced(folder: Path) -> str:
    """What was measured of ours before the method was changed, each time: kept, and shown."""
    versions = [version for version in VERSIONS if (folder / version).is_dir()]
    if not versions:
        return ""
    told = [
        f"## What `{OURS}` gave before it was changed",
        "",
        f"Results in `benchmarks/leaderboard/{folder.name}`.",
    ]
    for version in versions:
        told += ["", f"The {version} version:", "", _line(["where", "seeds", *SHOWN.values()])]
        told.append(_line(["---", *["---:"] * (len(SHOWN) + 1)]))
        settings: dict[str, list[dict[str, float]]] = {}
        files = sorted((folder / version / "results").glob("*/*.json"))
        every = sorted(
            (json.loads(file.read_text(encoding="utf-8")) for file in files), key=lambda one: one["date"]
        )
        newest = {(one["table"], one["cell"], one["seed"]): one for one in every}  # as the study reads them
        for _, found in sorted(newest.items()):
            where = ", ".join(label for axis, label in found["labels"].items() if axis != "method")
            ended = {name: found["curves"].get(name, [np.nan])[-1] for name in SHOWN}
            settings.setdefault(f"{found['table']}: {where}", []).append(ended)
        for where, ends in settings.items():
            means = [_shown(np.mean([end[name] for end in ends])) for name in SHOWN]
            told.append(_line([plain(where), str(len(ends)), *means]))
    return "\n".join(told)


def _shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _left(tables: dict[str, StudyTable]) -> str:
    lines = [
        f"- {table.called}: {len(table.missing)} of {len(table.cells)} cells not run, {len(table.failures)} failed"
        for table in tables.values()
    ]
    return "\n".join(["## What was not run", "", *lines])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def between_marks(page: Path, text: str) -> None:
    """Put the text where the page has its marks."""
    before = page.read_text(encoding="utf-8")
    start, stop = before.index(BEGIN) + len(BEGIN), before.index(END)
    page.write_text(f"{before[:start]}\n\n{text}\n\n{before[stop:]}", encoding="utf-8")


def main() -> None:
    """Read the results and write the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=HERE, help="where the study's results are")
    parser.add_argument("--scale", default="")
    parser.add_argument("--row", action="append", default=[])
    parser.add_argument("--docs", type=Path, default=DOCS)
    given = parser.parse_args()
    study = Study(HERE / "study.toml", out=given.out, scale=given.scale, rows=more_rows(tuple(given.row)))
    tables = {table.name: table for table in study.tables()}
    told = replaced(HERE / "replaced")
    between_marks(given.docs / "leaderboard.md", "\n\n".join([board(tables), *([told] if told else [])]))
    between_marks(given.docs / "which-method.md", verdicts(tables))


if __name__ == "__main__":
    main()
