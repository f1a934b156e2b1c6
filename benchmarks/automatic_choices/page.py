"""Write docs/automatic-choices.md from what measure.py measured.

python benchmarks/automatic_choices/page.py
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Cell = dict[str, Any]
TUNED = {
    ("reduced", 1): "tuned on it",
    ("reduced", 2): "held out, until a limit was changed",
    ("reduced", 3): "held out, until a limit was changed",
    ("reduced", 4): "held out, until a limit was changed",
    ("paper", 1): "one limit changed after seeing it",
}


def main() -> None:
    """Write the page."""
    measured = json.loads((HERE.parent / "results" / "automatic_choices.json").read_text(encoding="utf-8"))
    page = (HERE / "page.txt").read_text(encoding="utf-8")
    cells: list[Cell] = measured["fl-hc"]
    parts = {
        "runs": runs_table(cells),
        "every_cell": every_cell(cells),
        "wrong": wrong_cells(cells),
        "swap_apart": separations([cell for cell in cells if cell["split"] == "label swap" and right(cell)]),
        "pathological_apart": separations([cell for cell in cells if cell["split"] == "pathological"]),
        "min_separation": str(measured["min_separation"]),
        "nobody_joins": other_limit(measured["other limits"], "LEAST_GAIN"),
        "first_limit": other_limit(measured["other limits"], "MOST_AWAY", "paper", 1),
        "flic": flic_table(measured["flic"]),
    }
    for name, text in parts.items():
        page = page.replace(f"{{{name}}}", text)
    (HERE.parents[1] / "docs" / "automatic-choices.md").write_text(page, encoding="utf-8")


def right(cell: Cell) -> bool:
    """Exactly the true groups among honest clients; one flock where there are none."""
    return bool(cell["flocks"] == 1 if cell["ari"] is None else cell["ari"] == 1.0)


def runs_table(cells: list[Cell]) -> str:
    """One row for each setting and seed: in how many cells the choice was right."""
    splits = ("label swap", "IID", "label swap, wolves", "pathological")
    lines = ["| setting | seed | | label swap | IID | label swap, wolves | wolves alone | pathological |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for setting, seed in dict.fromkeys((cell["setting"], cell["seed"]) for cell in cells):
        shares = []
        for split in splits:
            run = [c for c in cells if (c["setting"], c["seed"], c["split"]) == (setting, seed, split)]
            shares.append(f"{sum(map(right, run))} of {len(run)}" if run else "")
            if split.endswith("wolves"):
                alone = sum(cell["wolves_alone"] for cell in run)
                shares.append(f"{alone} of {4 * len(run)}" if run else "")
        lines.append(
            f"| {setting} | {seed} | {TUNED.get((setting, seed), 'held out')} | {' | '.join(shares)} |"
        )
    return "\n".join(lines)


def every_cell(cells: list[Cell]) -> str:
    """Label swap by metric, linkage and n: how many seeds are right in each setting."""
    swap = [cell for cell in cells if cell["split"] == "label swap"]
    rounds = sorted({cell["n"] for cell in swap})
    settings = ("reduced", "paper")
    heads = [f"{setting}, n={n}" for setting in settings for n in rounds]
    lines = [f"| metric, linkage | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for metric, linkage in dict.fromkeys((cell["metric"], cell["linkage"]) for cell in swap):
        shares = []
        for setting in settings:
            for n in rounds:
                key = (setting, n, metric, linkage)
                seeds = [c for c in swap if (c["setting"], c["n"], c["metric"], c["linkage"]) == key]
                shares.append(f"{sum(map(right, seeds))} of {len(seeds)}")
        lines.append(f"| {metric}, {linkage} | {' | '.join(shares)} |")
    return "\n".join(lines)


def wrong_cells(cells: list[Cell]) -> str:
    """Every cell that is not right, in words."""
    wrong = [cell for cell in cells if not right(cell)]
    lines = []
    for cell in wrong:
        index = "" if cell["ari"] is None else f", adjusted Rand index {cell['ari']:.2f}"
        lines.append(
            f"- {cell['setting']} setting, seed {cell['seed']}, {cell['split']}, {cell['metric']} with "
            f"{cell['linkage']} linkage, n={cell['n']}: {cell['flocks']} "
            f"flock{'s' if cell['flocks'] > 1 else ''}{index}"
        )
    return "\n".join(lines) if lines else "- none"


def separations(cells: list[Cell]) -> str:
    """The range of the separations."""
    values = [cell["separation"] for cell in cells]
    return f"{min(values):.1f} to {max(values):.1f}"


def other_limit(rows: list[Cell], constant: str, setting: str = "", seed: int = 0) -> str:
    """How many label-swap cells were right with another limit, in all runs or in one."""
    chosen = [
        r for r in rows if constant in r and (not setting or (r["setting"], r["seed"]) == (setting, seed))
    ]
    return f"{sum(row['right'] for row in chosen)} of {40 * len(chosen)}"


def flic_table(rows: list[Cell]) -> str:
    """When FLIC acted, and on what."""
    lines = ["| split | acts in round | flocks | adjusted Rand index |", "|---|---|---|---|"]
    for row in rows:
        never = f"never ({row['watched_rounds']} rounds watched)"
        lines.append(
            f"| {row['split']} | {row['acts_at_round'] or never} | {row['flocks']} | {row['ari']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
