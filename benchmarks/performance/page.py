"""Write docs/performance.md and README's summary of it from the results of engine.py and training_kernels.py.

python benchmarks/performance/training_kernels.py --json benchmarks/results/training_kernels.json
python benchmarks/performance/engine.py --data DIR --json benchmarks/results/engine.json --pfl-python FILE
python benchmarks/performance/where.py --json benchmarks/results/where.json
python benchmarks/performance/optimisers.py --json benchmarks/results/optimisers.json
python benchmarks/performance/bounds.py --json benchmarks/results/bounds.json
python benchmarks/performance/before_after.py --before CHECKOUT --data DIR --json benchmarks/results/before_after.json
python benchmarks/performance/page.py
"""

import json
from html import escape
from pathlib import Path
from typing import Any

from bars import bars_part, before_table
from limits import limits_part, optimisers_part
from machine import machine_part
from tables import (
    ALONE,
    NATIVE,
    SCALING,
    Rows,
    best_other,
    costs_table,
    rounds_table,
    seconds,
    targets_table,
    times_faster,
)

ROOT = Path(__file__).parents[2]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
README, BLOCK = ROOT / "README.md", "<!-- how fast it is -->"
COMMAND = "python benchmarks/performance/engine.py --data DIR"
TARGETS = {
    "W1": {"native": 3.0, "generic": 1.3},
    "W1b": {"native": 2.7},
    "W2": {"native": 2.7},
    "W3": {"native": 15.0, "generic": 3.0},
    "W4": {"generic": 2.5, "torch alone": 1.3},  # all of it but the last layers is one compiled step
    "W1m": {"generic": 1.3},
    "W3m": {"generic": 3.0},
    "W4m": {"generic": 1.3},
    "CIFAR": {"native": 2.5},
}

SINCE = {  # rounds of A measured again, and what had changed
    "engine_rounds_again": "the kernels fetch ahead what a step will need",
    "engine_rounds_lines": "sums of the convolutions' gradients stay in registers along a line",
}


def main() -> None:
    """Write the page and its chart."""
    kernels, engine, where, optimisers, before, bounds = (
        json.loads((RESULTS / f"{name}.json").read_text())
        for name in ("training_kernels", "engine", "where", "optimisers", "before_after", "bounds")
    )
    panels = {
        f"Workload {name}: rounds a second": {way: 1 / seconds(row) for way, row in rows.items()}
        for name, rows in engine["results"].items()
        if name not in SCALING
    }
    (DOCS / "images" / "engine.svg").write_text(chart(panels))
    parts = [
        "# Performance\n",
        "Ratios are measured in one run each; absolute numbers depend on the machine and on what else it does.\n",
        *bars_part(engine, kernels, optimisers, before),
        *(line for name, change in SINCE.items() for line in rounds_since(RESULTS / f"{name}.json", change)),
        before_table(before) + "\n",
        *limits_part(kernels, engine, where, bounds),
        *machine_part(bounds, optimisers),
        *optimisers_part(optimisers),
        *rounds_part(engine),
        *kernels_part(kernels),
    ]
    (DOCS / "performance.md").write_text("\n".join(parts) + "\n")
    before, _, after = README.read_text().split(BLOCK)
    README.write_text(f"{before}{BLOCK}\n{summary(engine)}\n{BLOCK}{after}")


def summary(engine: dict[str, Any]) -> str:
    """Rounds a second of whoever was measured on both workloads, and how much faster ours is."""
    first, second = engine["results"]["A"], engine["results"]["B"]
    ways = [way for way in first if way in second and (way == NATIVE or not way.startswith("ours"))]
    rounds = [
        f"| {'**Flockwise**' if way == NATIVE else way} | {1 / seconds(first[way]):.2f} | {1 / seconds(second[way]):.1f} |"
        for way in sorted(ways, key=lambda way: -seconds(first[way]))
    ]
    times = [f"**{times_faster(rows[NATIVE], rows[best_other(rows)]):.1f}x**" for rows in (first, second)]
    return "\n".join(
        [
            f"| rounds a second on {engine['cores']} cores | papers' CNN, 10 clients a round | softmax regression |",
            "|---|---|---|",
            *rounds,
            f"| against the fastest of the others | {' | '.join(times)} |",
        ]
    )


def rounds_part(engine: dict[str, Any]) -> list[str]:
    """What engine.py measured."""
    loads = [load for part in engine["load"].values() for load in part]
    versions = ", ".join(f"{name} {version}" for name, version in engine["versions"].items())
    parts = [
        "## Whole rounds\n",
        f"`{COMMAND}`, {engine['date']}, {engine['cpu']}, {engine['cores']} cores, load of the machine "
        f"between {min(loads):.1f} and {max(loads):.1f} while it ran. {versions}.\n",
        targets_table(engine) + "\n",
        "A: the papers' CNN, 100 clients with 600 MNIST digits, 10 a round, batch 10, one epoch. "
        "B: softmax regression, 1000 clients with 60 digits. The plain loop is DataLoader and torch.optim.SGD, "
        "its clients spread over one process per core. All ways take turns, so that whatever else the machine "
        "does hits them alike; a ratio is the median over turns. CPU seconds are those of all its processes, "
        "which other programs disturb least. Samples a round and the accuracy after the same number of "
        "rounds show that the work is the same. Start-up is from the start of the program to the end of its first "
        "round. In B, 300 rounds before those timed do not count: until most clients have been asked once, ours still "
        "reads their data, which the plain loop has done before.\n",
        "![rounds a second](images/engine.svg)\n",
    ]
    for name, rows in engine["results"].items():
        titles = {
            "scaling": "One worker and two, 10 clients with 5 epochs",
            "scaling A": "One worker and two in A's rounds",
        }
        title = titles.get(name, f"Workload {name}")
        parts.append(f"### {title}\n\nTimed over {rounds_of(rows)} rounds.\n\n{rounds_table(rows)}\n")
        if name not in SCALING:
            parts.append(f"The fastest way that is not ours: {best_other(rows)}.\n")
    parts.append(scaling_note(engine["results"].get("scaling", {})))
    parts += [f"Left out: {name}: {why}\n" for name, why in engine["left_out"].items()]
    parts += [
        "### Testing every client, and memory\n",
        "Workload A: all 100 clients' own test digits after a round. A client is tested again only if its model "
        "changed. Memory is the PSS of all processes of `flockwise run` added up, so that pages they share count "
        "once, at its peak.\n",
        costs_table(engine) + "\n",
        *memory_since(RESULTS / "engine_memory.json"),
    ]
    return parts


def scaling_note(rows: Rows) -> str:
    """How much of two workers' gain the machine itself allows: the same work costs more when both cores work."""
    if NATIVE not in rows or ALONE not in rows:
        return ""
    one, two = (rows[way]["cpu"] / sum(map(len, rows[way]["turns"])) for way in (ALONE, NATIVE))
    return (
        f"A round costs {one:.2f} CPU seconds with one worker and {two:.2f} with two, because the cores share caches and "
        f"memory: at most {2 * one / two:.2f}x was possible on this machine.\n"
    )


def rounds_of(rows: Rows) -> str:
    """How many rounds were timed; all ways ran equally many, give or take the one that ends a run."""
    return str(sum(len(turn) for turn in next(iter(rows.values()))["turns"]))


def rounds_since(file: Path, change: str) -> list[str]:
    """Rounds of A once more, measured after a change of the kernels."""
    if not file.exists():
        return []
    found = json.loads(file.read_text())
    rows, load = found["results"]["A"], found["load"]["A"]
    plain, other = rows["plain loop"], best_other(rows)
    gain, ahead = times_faster(rows[NATIVE], plain), times_faster(rows[NATIVE], rows[other])
    met = "met" if gain >= 4.5 else "**not met**"
    beside = f" and {ahead:.2f}x as fast as {other}" if other != "plain loop" else ""
    return [
        f"Measured again, {found['date']}, loads of {min(load):.1f} to {max(load):.1f}, since {change}: rounds of A are "
        f"{gain:.2f}x as fast as the plain loop{beside} (the bar of 4.5x is {met}). Against us: a round took "
        f"{seconds(rows[NATIVE]):.2f} s and one of the plain loop {seconds(plain):.2f} s; compare these with the tables "
        "below before the ratio is called a gain of the kernels, for it was another hour and perhaps another machine. All "
        "other numbers of whole rounds and of single clients on this page are of the kernels before.\n"
    ]


def memory_since(file: Path) -> list[str]:
    """Peak memory once more, measured after a round was no longer held a third time while it is handed over."""
    if not file.exists():
        return []
    found = json.loads(file.read_text())
    peaks = [f"{name}: {row['pss'] / 1e9:.2f} GB" for name, row in found["memory"].items()]
    told = "; ".join(peaks)
    return [
        f"Measured again, {found['date']}, since updates are copied out of shared memory in parts: {told}.\n"
    ]


def kernels_part(kernels: dict[str, Any]) -> list[str]:
    """What training_kernels.py measured."""
    return [
        "## One client on one core\n",
        "`python benchmarks/performance/training_kernels.py`, best and median of CPU time against the usual loop. "
        "Targets that are not met are marked. `native` trains the whole model in C++. `generic` is torch with what is "
        "done for any module, compiled steps included, for convolution, rectifier and maximum and for runs of "
        "convolution, batch normalisation and rectifier: what a model gets if one of its layers is unknown to the "
        "native path, as in MobileNet. `torch alone` is the same without a compiler.\n",
        kernels_table(kernels) + "\n",
    ]


def kernels_table(kernels: dict[str, Any]) -> str:
    """Every workload of one core."""
    lines = [
        "| workload | path | x usual loop, best | median | share of sgemm peak | target |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in kernels.items():
        if not isinstance(found, dict) or "ways" not in found:
            continue
        for way in ("native", "generic", "torch alone"):
            if way not in found["ways"]:
                continue
            target = TARGETS.get(name, {}).get(way)
            row = found["ways"][way]
            met = (
                "-"
                if target is None
                else f"{target} {'met' if row['speedup_median'] >= target else 'not met'}"
            )
            lines.append(
                f"| {name}: {found['summary']} | {way} | {row['speedup_best']:.2f} | {row['speedup_median']:.2f} | "
                f"{row['peak_fraction']:.2f} | {met} |"
            )
    return "\n".join(lines)


def chart(panels: dict[str, dict[str, float]]) -> str:
    """Horizontal bars as SVG, one panel below the other, each with its own scale."""
    parts, y = [], 0
    for title, bars in panels.items():
        parts.append(f'<text x="10" y="{y + 20}" font-weight="bold">{escape(title)}</text>')
        y += 32
        for name, value in bars.items():
            width = 300 * value / max(bars.values())
            colour = "#0072b2" if name.startswith("ours") else "#999999"
            parts += [f'<text x="345" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
                      f'<rect x="352" y="{y}" width="{width:.1f}" height="20" fill="{colour}"/>',
                      f'<text x="{358 + width:.1f}" y="{y + 15}">{value:.3g}</text>']  # fmt: skip
            y += 30
    size = f'width="720" height="{y + 6}" font-family="sans-serif" font-size="13"'
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    return "".join([*head, *parts, "</svg>\n"])


if __name__ == "__main__":
    main()
