"""Write the tables of docs/million.md that come from results of this folder's scripts, between their marks.

python benchmarks/scale/million_page.py
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
PAGE, RESULTS = HERE.parents[1] / "docs" / "million.md", HERE.parent / "results"
Cell = dict[str, Any]


def main() -> None:
    """Write the page."""
    page = PAGE.read_text(encoding="utf-8")
    tables = {
        "streaming": streaming(read("streaming.json")),
        "newcomers": newcomers(read("newcomers_by_size.json")),
        "report": report(read("report_opening_quiet.json")),
    }
    for name, table in tables.items():
        mark = f"<!-- {name} -->\n"
        before, _, rest = page.partition(mark)
        page = f"{before}{mark}{table}\n{mark}{rest.partition(mark)[2]}"
    PAGE.write_text(page, encoding="utf-8")


def read(name: str) -> Any:
    """A result, never written here."""
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def streaming(found: dict[str, Cell]) -> str:
    """A row for each rule."""
    lines = [
        "| rule | memory: on disk | whole | CPU s: on disk | whole | result |",
        "|---|---|---|---|---|---|",
    ]
    for name, cell in found.items():
        disk, whole = cell["disk"], cell["memory"]
        same = (
            "the same bits" if cell["same_bits"] else f"off by {cell['difference']:.0e} of the largest number"
        )
        lines.append(
            f"| {name} | {disk['bytes'] / 1e6:,.0f} MB | {whole['bytes'] / 1e6:,.0f} MB | {disk['cpu']:.1f} | "
            f"{whole['cpu']:.1f} | {same} |"
        )
    return "\n".join(lines)


def newcomers(found: dict[str, list[Cell]]) -> str:
    """A row for each setting."""
    lines = [
        "| samples to validate on | newcomers in the right flock | never heard: the same | ARI when flocks are found "
        "| at the end | accuracy |",
        "|---|---|---|---|---|---|",
    ]
    for setting, runs in found.items():
        told = [
            ", ".join(f"{run[name]:.2f}" for run in runs)
            for name in ("right", "never_heard_right", "ari_found", "ari_end", "accuracy")
        ]
        lines.append(f"| {setting.split()[0]} | {' | '.join(told)} |")
    return "\n".join(lines)


def report(found: Cell) -> str:
    """What a browser took, in lines."""
    middle, machine = found["median"], found["machine"]
    openings = len(found["openings"])
    lines = [
        f"| report of {found['clients']:,} clients | |",
        "|---|---|",
        f"| size; record | {found['report_bytes'] / 1e6:.1f} MB; {found['record_bytes'] / 1e6:.1f} MB |",
        f"| processor time of the page until it is ready, median of {openings} | {middle['cpu']:.2f} s |",
        f"| by the clock, with a load of {np.mean(list(machine.values())[1:]):.1f} for {machine['cores']} cores: "
        f"first paint, content, ready | {middle['paint']:.2f} s, {middle['content']:.2f} s, {middle['ready']:.2f} s |",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
