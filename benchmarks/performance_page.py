"""Write docs/performance.md from the measured results of engine.py and training_kernels.py.

python benchmarks/training_kernels.py --json benchmarks/results/training_kernels.json
python benchmarks/engine.py --data DIR --json benchmarks/results/engine.json
python benchmarks/performance_page.py
"""

import json
from html import escape
from pathlib import Path
from typing import Any

from engine import table

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
TARGETS = {
    "W1": (3.0, 1.3),
    "W1b": (2.7, None),
    "W2": (2.7, None),
    "W3": (15.0, 3.0),
    "W4": (1.8, 1.3),
    "CIFAR": (2.5, None),
}


def main() -> None:
    """Write the page and its chart."""
    kernels = json.loads((HERE / "results" / "training_kernels.json").read_text())
    engine = json.loads((HERE / "results" / "engine.json").read_text())
    bars = [(way, 1 / row["seconds"]) for way, row in engine["results"]["A"].items()]
    (DOCS / "images" / "engine.svg").write_text(chart("Workload A: rounds a second", bars))
    parts = [
        "# Performance\n",
        "Ratios are measured in one run each; absolute numbers depend on the machine and on what else it does.\n",
        "## Whole rounds\n",
        f"`{engine['command']}`, {engine['date']}, {engine['cpu']}, {engine['cores']} cores, load {engine['load']:.1f}.\n",
        "A: the papers' CNN, 100 clients with 600 MNIST digits, 10 a round, batch 10, one epoch. "
        "B: softmax regression, 1000 clients with 60 digits. The plain loop is DataLoader and torch.optim.SGD, "
        "its clients spread over one process per core. "
        "Accuracy after the timed rounds shows that the work is the same; Flower is timed over fewer rounds "
        "(3 and 30 instead of 8 and 300), so its accuracy is lower.\n",
        "![rounds a second](images/engine.svg)\n",
    ]
    for name, rows in engine["results"].items():
        parts.append(f"### {table(name, rows)}\n")
    parts += [
        "## One client on one core\n",
        f"`python benchmarks/training_kernels.py`, {engine['date']}, best and median of CPU time against the usual loop. "
        "Targets that are not met are marked.\n",
        kernels_table(kernels),
    ]
    (DOCS / "performance.md").write_text("\n".join(parts) + "\n")


def kernels_table(kernels: dict[str, Any]) -> str:
    """Every workload of one core."""
    lines = [
        "| workload | path | x usual loop, best | median | share of sgemm peak | target |",
        "|---|---|---|---|---|---|",
    ]
    for name, found in kernels.items():
        if not isinstance(found, dict) or "ways" not in found:
            continue
        for way, target in zip(("native", "generic"), TARGETS.get(name, (None, None)), strict=True):
            if way not in found["ways"]:
                lines.append(
                    f"| {name}: {found['summary']} | {way} | - | - | - | {target or '-'}: no native path |"
                )
                continue
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


def chart(title: str, bars: list[tuple[str, float]]) -> str:
    """Horizontal bars as SVG."""
    most, height = max(value for _, value in bars), 34 + 30 * len(bars)
    size = f'width="640" height="{height}" font-family="sans-serif" font-size="13"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20" font-weight="bold">{escape(title)}</text>',
    ]
    for number, (name, value) in enumerate(bars):
        y, width = 32 + 30 * number, 330 * value / most
        colour = "#0072b2" if name.startswith("ours") else "#999999"
        parts += [f'<text x="225" y="{y + 15}" text-anchor="end">{escape(name)}</text>',
                  f'<rect x="232" y="{y}" width="{width:.1f}" height="20" fill="{colour}"/>',
                  f'<text x="{238 + width:.1f}" y="{y + 15}">{value:.2f}</text>']  # fmt: skip
    return "".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
