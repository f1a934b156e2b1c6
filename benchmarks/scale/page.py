"""Write docs/sketches.md and its pictures from what the scripts of this folder measured.

python benchmarks/scale/page.py
"""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from refining import ONE_KIND

from flockwise.pictures import line_chart

HERE = Path(__file__).parent
DOCS, RESULTS = HERE.parents[1] / "docs", HERE.parent / "results"
Cell = dict[str, Any]
Points = list[tuple[float, float]]


def main() -> None:
    """Write the page."""
    sketches = {**read("sketches.json"), **read("sketches_more.json")}
    growth = [cell for path in sorted(RESULTS.glob("growth*.json")) for cell in read(path.name)]
    crowds = [read(path.name) for path in sorted(RESULTS.glob("flocks_of_*.json"))]
    draw("scale-errors", *error_picture(sketches))
    draw("scale-flocks", *flock_picture(sketches))
    draw("scale-clients", *growth_picture(growth, "clients", 10_000))
    draw("scale-parameters", *growth_picture(growth, "parameters", 100))
    draw("scale-memory", *memory_picture(growth))
    page = (HERE / "page.txt").read_text(encoding="utf-8")
    parts = {
        "sketches": sketch_table(sketches),
        "crowds": crowd_table(crowds),
        "growth": growth_table(growth),
        "refining": refining_table(read("refining.json")),
        "refined": refined(read("refining.json")),
        "neighbours": neighbour_table(read("neighbours.json")),
    }
    for name, text in parts.items():
        page = page.replace(f"{{{name}}}", text)
    (DOCS / "sketches.md").write_text(page, encoding="utf-8")


def read(name: str) -> Any:
    """A result, never written here."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def draw(name: str, title: str, x: str, y: str, lines: Sequence[tuple[str, Points]]) -> None:
    """A picture of the page; names are shortened to fit beside it."""
    lines = [
        (name.replace("labels swapped", "swapped").replace(" digits", ""), points) for name, points in lines
    ]
    (DOCS / "images" / f"{name}.svg").write_text(line_chart(title, x, y, lines), encoding="utf-8")


def error_picture(sketches: dict[str, Cell]) -> tuple[str, str, str, list[tuple[str, Points]]]:
    """Errors of cosines against the width, both as powers."""
    lines = [
        (
            name,
            [
                (math.log2(int(width)), math.log10(np.mean(cell["error"])))
                for width, cell in found["widths"].items()
            ],
        )
        for name, found in sketches.items()
    ]
    widths = [int(width) for width in next(iter(sketches.values()))["widths"]]
    lines.append(
        ("1 / root of the width", [(math.log2(width), -0.5 * math.log10(width)) for width in widths])
    )
    return "Error of cosines", "numbers in a sketch, as a power of 2", "error, as a power of 10", lines


def flock_picture(sketches: dict[str, Cell]) -> tuple[str, str, str, list[tuple[str, Points]]]:
    """How alike the flocks of sketches are to those of whole updates."""
    lines = [
        (
            name,
            [
                (math.log2(int(width)), float(np.mean(cell["ari_with_exact"])))
                for width, cell in found["widths"].items()
            ],
        )
        for name, found in sketches.items()
    ]
    return (
        "Flocks of sketches and of whole updates",
        "numbers in a sketch, as a power of 2",
        "ARI, mean of 5 seeds",
        lines,
    )


def sketch_table(sketches: dict[str, Cell]) -> str:
    """A row for each scenario and width."""
    lines = head(
        "updates",
        "whole: flocks, ARI with the groups",
        "width",
        "error of cosines",
        "ARI with whole: mean, lowest",
        "seeds with 1",
        "ARI with the groups",
    )
    for name, found in sketches.items():
        groups = found["ari_with_groups"]
        whole = f"{found['flocks']}, {'-' if groups is None else f'{groups:.2f}'}"
        about = f"{name}: {found['clients']} clients, {found['parameters']:,} parameters"
        for width, cell in found["widths"].items():
            same = cell["ari_with_exact"]
            truth = "-" if groups is None else f"{np.mean(cell['ari_with_groups']):.2f}"
            lines.append(
                f"| {about} | {whole} | {width} | {np.mean(cell['error']):.3f} | {np.mean(same):.2f}, {min(same):.2f} | "
                f"{sum(one == 1 for one in same)} of {len(same)} | {truth} |"
            )
            about = whole = ""
    return "\n".join(lines)


def refining_table(found: dict[str, list[Cell]]) -> str:
    """A row for each crowd: flocks and ARI with the kinds, whole and at two widths, before and now."""
    lines = head(
        "crowd", "whole updates, before", "now", "128 numbers, before", "now", "512 numbers, before", "now"
    )
    for name, cells in found.items():
        told = [
            shown([cell[when] for cell in cells if width in (None, cell["width"])])
            for width, before, after in (
                (None, "whole_before", "whole"), (128, "before", "after"), (512, "before", "after")
            )
            for when in (before, after)
        ]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(told)} |")
    return "\n".join(lines)


def refined(found: dict[str, list[Cell]]) -> str:
    """Whether what was set before holds, in a line."""
    more = lower = 0
    for name, cells in found.items():
        for width in sorted({cell["width"] for cell in cells}):
            mine = [cell for cell in cells if cell["width"] == width]
            before, after = (np.mean([cell[when]["ari"] for cell in mine]) for when in ("before", "after"))
            lower += after < before - 1e-9
            most = max(cell[when]["flocks"] for cell in mine for when in ("before", "whole_before"))
            more += name in ONE_KIND and max(cell["after"]["flocks"] for cell in mine) > most
    widths = sum(len({cell["width"] for cell in cells}) for cells in found.values())
    return (
        f"Of {widths} crowds and widths, {more} of one kind have more flocks than before, and {lower} a lower ARI: "
        f"**{'not met' if more or lower else 'met'}**."
    )


def shown(cells: list[Cell]) -> str:
    """How many flocks there are, and the mean ARI."""
    counts = sorted({cell["flocks"] for cell in cells})
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{many}: {np.mean([cell['ari'] for cell in cells]):.2f}"


def neighbour_table(found: list[Cell]) -> str:
    """A row for each search."""
    lines = head(
        "by",
        "clients",
        "buckets looked into",
        "CPU s",
        "recall of the 15 nearest",
        "ARI of Leiden's communities",
    )
    for one in found:
        lines.append(
            f"| {one['by']} | {one['clients']:,} | {one['probes']} | {one['cpu']:.2f} | {one['recall']:.2f} | "
            f"{one['ari']:.3f} |"
        )
    return "\n".join(lines)


def crowd_table(crowds: list[Cell]) -> str:
    """A row for each crowd."""
    lines = head(
        "clients",
        "width",
        "groups",
        "flocks",
        "ARI",
        "worst group found",
        "sketching, CPU s",
        "flocks, CPU s",
        "by the clock, s (load)",
        "memory",
    )
    for found in sorted(crowds, key=lambda one: one["clients"]):
        lines.append(
            f"| {found['clients']:,} | {found['width']} | {found['groups']} | {found['flocks']} | {found['ari']:.4f} | "
            f"{min(found['recovery']):.3f} | {found['cpu']['sketches']:.1f} | {found['cpu']['flocks']:.1f} | "
            f"{found['seconds']:.0f} ({found['machine']['load']:.0f}) | {found['rss_gb']:.1f} GB |"
        )
    return "\n".join(lines)


def head(*columns: str) -> list[str]:
    """The first lines of a table."""
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def exponent(cells: list[Cell], along: str, what: str) -> float | None:
    """The power of growth, fitted over the largest cells that take long enough to be measured."""
    points = [(cell[along], cell[what]) for cell in cells if cell["cpu"] > 0.005 and cell[what] > 0]
    if len(points) < 2:
        return None
    logs = np.log(np.array(sorted(points)[-3:]))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def line_of(growth: list[Cell], step: str, along: str, across: str, at: int) -> list[Cell]:
    """The cells of a step along one axis."""
    return sorted((c for c in growth if c["step"] == step and c[across] == at), key=lambda c: c[along])


def growth_picture(growth: list[Cell], along: str, at: int) -> tuple[str, str, str, list[tuple[str, Points]]]:
    """Seconds against clients, or against parameters of so many clients, both as powers of 10."""
    lines = []
    others = {  # in the table; as the median, hardly anything, and as the mean
        "trimmed mean", "checkpoint of sketches", "norm bound", "FLTrust", "centred clipping",
    }  # fmt: skip
    across = "parameters" if along == "clients" else "clients"
    for step in dict.fromkeys(cell["step"] for cell in growth if cell["step"] not in others):
        cells = line_of(growth, step, along, across, at) or line_of(growth, step, along, across, 256)
        points = [(math.log10(c[along]), math.log10(c["cpu"])) for c in cells if c["cpu"] > 1e-4]
        if len(points) > 1:
            lines.append((step, points))
    title = f"Processor seconds of the server's steps, {at:,} {across}"
    return title, f"{along}, as a power of 10", "seconds, as a power of 10", lines


def memory_picture(growth: list[Cell]) -> tuple[str, str, str, list[tuple[str, Points]]]:
    """Memory beside the input of what compares clients."""
    lines = []
    for step in ("cosine, all with all", "flocks, all with all", "sketch", "flocks, sparse graph"):
        cells = line_of(growth, step, "clients", "parameters", 10_000) or line_of(
            growth, step, "clients", "parameters", 256
        )
        points = [(math.log10(c["clients"]), math.log10(c["bytes"])) for c in cells if c["bytes"] > 0]
        if len(points) > 1:
            lines.append((step, points))
    return "Memory of comparing clients", "clients, as a power of 10", "bytes, as a power of 10", lines


def growth_table(growth: list[Cell]) -> str:
    """A row for each step: its largest cell, and the powers of its growth."""
    lines = head(
        "step",
        "largest measured: clients x numbers",
        "CPU s",
        "memory beside the input",
        "time grows with clients",
        "with parameters",
        "memory with clients",
    )
    for step in dict.fromkeys(cell["step"] for cell in growth):
        mine = [cell for cell in growth if cell["step"] == step]
        largest = max(mine, key=lambda cell: cell["cpu"])
        sizes = sorted({cell["parameters"] for cell in mine})
        by_clients = [
            exponent(line_of(mine, step, "clients", "parameters", size), "clients", "cpu") for size in sizes
        ]
        by_size = [
            exponent(line_of(mine, step, "parameters", "clients", n), "parameters", "cpu")
            for n in sorted({cell["clients"] for cell in mine})
        ]
        memory = exponent(line_of(mine, step, "clients", "parameters", sizes[0]), "clients", "bytes")
        lines.append(
            f"| {step} | {largest['clients']:,} x {largest['parameters']:,} | {largest['cpu']:.2f} | "
            f"{largest['bytes'] / 1e6:,.0f} MB | {told(by_clients)} | {told(by_size)} | {told([memory])} |"
        )
    return "\n".join(lines)


def told(exponents: list[float | None]) -> str:
    """The middle of the fitted powers."""
    known = [one for one in exponents if one is not None]
    return f"n^{np.median(known):.1f}" if known else "-"


if __name__ == "__main__":
    main()
