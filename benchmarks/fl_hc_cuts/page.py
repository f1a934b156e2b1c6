"""Write docs/papers/fl-hc/cuts.md and its pictures from benchmarks/results/fl_hc_cuts.json."""

import json
from pathlib import Path
from typing import Any

from flockwise.papers.paper import folder_of
from flockwise.pictures.svg import svg
from flockwise.studies.published.bars import read_bars
from flockwise.studies.published.drawing import Lines, beside
from flockwise.studies.statistics import mean_and_half_width

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "fl_hc_cuts.json"
FOLDER = ROOT / "docs" / "papers" / "fl-hc"
NUMBER = "accuracy after clustering"
HEAD = """# Every cut of FL+HC's dendrograms

Made by `python benchmarks/fl_hc_cuts/page.py` from what `benchmarks/fl_hc_cuts/measure.py` measured. FL+HC's Tables IV
and V are of "the best performing of a range of thresholds", which the paper does not name. After ten rounds of federated
averaging everybody trains once; every cut of every dendrogram of those updates is judged by the mean of what a cluster's
members sent, on the members' own test digits. No cut is trained any further: the published numbers, of the first round of
training inside clusters, are beside it for orientation and nothing is judged.
"""
COLUMNS = (
    "| distance, linkage | published after clustering | one flock | everyone alone | automatic cut: flocks | its accuracy "
    "| best cut: flocks | its accuracy | cuts within a point of the published |"
)


def main() -> None:
    """Every table that was measured at full."""
    entries = [entry for entry in json.loads(RESULTS.read_text()) if entry["scale"] == "full"]
    published = {
        (bar.table, bar.cell): bar.value for bar in read_bars(folder_of("fl-hc")) if bar.number == NUMBER
    }
    parts = [HEAD]
    for table in ("IV", "V"):
        mine = [entry for entry in entries if entry["table"] == table]
        parts += _table(table, mine, published) if mine else [f"## Table {table}\n\nNot run.\n"]
    (FOLDER / "cuts.md").write_text("\n".join(parts))


def _table(table: str, entries: list[dict[str, Any]], published: dict[tuple[str, str], float]) -> list[str]:
    seeds = ", ".join(str(entry["seed"]) for entry in entries)
    commits = ", ".join(sorted({entry["commit"][:7] for entry in entries}))
    parts = [f"## Table {table}\n\nSeeds {seeds}; commit {commits}.\n", COLUMNS, "|---" * 9 + "|"]
    for cell in entries[0]["cells"]:
        parts.append(_row(cell, [entry["cells"][cell] for entry in entries], published.get((table, cell))))
    parts.append("")
    for metric in dict.fromkeys(cell.partition(", ")[0] for cell in entries[0]["cells"]):
        lines = []
        for cell, found in entries[0]["cells"].items():
            if cell.startswith(f"{metric},"):
                points = list(zip(found["flocks"], found["accuracy"], strict=True))[::-1]
                bars = (
                    [(found["flocks"][0], value)]
                    if (value := published.get((table, cell))) is not None
                    else []
                )
                lines.append(Lines(cell.partition(", ")[2], points, bars))
        title = f"Table {table}, {metric}: every cut, seed {entries[0]['seed']}; published at the right edge"
        name = f"cuts-{table.lower()}-{metric}.svg"
        (FOLDER / name).write_text(svg(beside(title, "flocks", "accuracy, %", lines)))
        parts.append(f"![{title}]({name})\n")
    return parts


def _row(cell: str, found: list[dict[str, Any]], value: float | None) -> str:
    best = [max(zip(one["accuracy"], one["flocks"], strict=True)) for one in found]
    near = sorted(
        {
            k
            for one in found
            for k, a in zip(one["flocks"], one["accuracy"], strict=True)
            if value is not None and abs(a - value) <= 1.0
        }
    )
    told = f"{near[0]} to {near[-1]} flocks ({len(near)})" if near else "none"
    numbers = [
        _shown([one["accuracy"][-1] for one in found]), _shown([one["accuracy"][0] for one in found]),
        "/".join(str(one["auto"][0]) for one in found), _shown([one["auto"][1] for one in found]),
        "/".join(str(flocks) for _, flocks in best), _shown([accuracy for accuracy, _ in best]),
    ]  # fmt: skip
    return f"| {cell} | {'not printed' if value is None else value} | {' | '.join(numbers)} | {told} |"


def _shown(values: list[float]) -> str:
    mean, width = mean_and_half_width(values)
    return f"{mean:.2f}" if width is None else f"{mean:.2f} ± {width:.2f}"


if __name__ == "__main__":
    main()
