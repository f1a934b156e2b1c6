"""Attackers that know what shepherd watches: its courses, and the numbers that it asks clients for.

    python benchmarks/defence/insiders.py [--seeds 3]
    python benchmarks/defence/insiders.py --page        writes the table again, runs nothing

As in measure.py: embedded digits, 20 clients, 25 rounds. Decided before the first run of these seeds, after trials with
seeds from 100 on: the statistic is the accuracy of all honest clients, those set apart included, and how many of them are
set apart, in the mean over seeds 1 to 3; the bar for shepherd is to lose no more than 0.05 to 20 % of attackers, and to set
nobody honest apart. With 45 % there is no bar: the table shows what gets through. What there is is not run again.
benchmarks/results/defence_insiders.json has the same against the second version of shepherd, defence_insiders_own_steps.json
against the third, in which who moved was on no trial; of the methods that have not changed since, its rows are shown again.
`insider` was added when the other rows had been run, and before any of its own: statistic and bar are the same.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.defence.measure import NONE, Row, measured

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "defence_insiders_trial.json"
BEFORE = ROOT / "benchmarks" / "results" / "defence_insiders_own_steps.json"
PAGE = ROOT / "docs" / "attacks-and-judges.md"
BEGIN, END = "<!-- insiders: begin -->", "<!-- insiders: end -->"
METHODS = ("shepherd", "flic, judge, mean", "FedAvg")
SPLITS = ("IID", "two swapped groups")
COUNTS = (4, 9)
ATTACKS: list[dict[str, Any]] = [
    {"name": "drifter"}, {"name": "drifter", "scale": 5.0}, {"name": "drifter", "turn": 30.0, "scale": 5.0},
    {"name": "liar", "lie": "praise"}, {"name": "liar", "lie": "blame", "scale": 0.0}, {"name": "liar", "lie": "stray"},
    {"name": "insider"},
]  # fmt: skip


def runs(seeds: int) -> Iterator[tuple[str, str, dict[str, Any], int]]:
    """All of them, ours first."""
    told = [NONE, *({**attack, "clients": count} for count in COUNTS for attack in ATTACKS)]
    for method in METHODS:
        for seed in range(1, seeds + 1):
            yield from ((method, split, attack, seed) for split in SPLITS for attack in told)


def table(rows: list[Row]) -> str:
    """Accuracy with 20 / 45 % of attackers, and in brackets honest clients set apart."""
    seeds = len({row["seed"] for row in rows})
    told = [
        f"Digits, 20 clients, 25 rounds, {seeds} seeds, by `python benchmarks/defence/insiders.py`: accuracy of the honest",
        "with 4 / 9 attackers; in brackets honest clients set apart on average.",
        "",
    ]
    for split in SPLITS:
        told += [f"| {split} | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
        told.append(
            f"| nobody attacks | {' | '.join(_cell(rows, method, split, NONE) for method in METHODS)} |"
        )
        for attack in ATTACKS:
            options = ", ".join(f"{name} {value}" for name, value in attack.items() if name != "name")
            cells = [
                " / ".join(_cell(rows, method, split, {**attack, "clients": count}) for count in COUNTS)
                for method in METHODS
            ]
            told.append(f"| `{attack['name']}` {options} | {' | '.join(cells)} |")
        told.append("")
    return "\n".join(told)


def _cell(rows: list[Row], method: str, split: str, attack: dict[str, Any]) -> str:
    some = [row for row in rows if (row["method"], row["split"], row["attack"]) == (method, split, attack)]
    if not some:
        return "-"
    apart = float(np.mean([row["honest apart"] for row in some]))
    return f"{np.mean([row['accuracy'] for row in some]):.2f}" + (f" ({apart:.1f})" if apart else "")


def main() -> None:
    """Measure what is missing, then write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--page", action="store_true", help="run nothing")
    given = parser.parse_args()
    rows: list[Row] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
    same = [row for row in json.loads(BEFORE.read_text(encoding="utf-8")) if row["method"] != "shepherd"]
    done = [(row["method"], row["split"], row["attack"], row["seed"]) for row in [*rows, *same]]
    for run in runs(given.seeds) if not given.page else ():
        if run not in done:
            rows.append(measured(*run))
            print(json.dumps(rows[-1]), flush=True)
            RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(f"{page[:start]}\n\n{table([*rows, *same])}\n{page[stop:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
