"""Attackers that know the defence against several methods, and what methods do to the innocent: docs/methods/shepherd.md.

    python benchmarks/defence/measure.py --json benchmarks/results/defence.json --markdown docs/methods/shepherd.md

Embedded digits, 20 clients, all of them in every round. Accuracy is that of all honest clients, those set apart included.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.runs.assembly import assemble
from flockwise.runs.loop import one_round
from flockwise.stages import FREE

ROUNDS = 25
METHODS: dict[str, dict[str, Any]] = {
    "shepherd": {"strategy": {"name": "shepherd", "parole_after": 10}},
    "flic, judge, mean": {
        "strategy": {"name": "flic", "patience": 3, "judge": "validation", "rollback": True}
    },
    "flic, median": {"strategy": {"name": "flic", "patience": 3}, "aggregation": {"name": "median"}},
    "byzantine-cfl": {"strategy": {"name": "byzantine-cfl"}},
}
ATTACKS: list[dict[str, Any]] = [
    {"name": "reverse", "scale": 5.0}, {"name": "sleeper"}, {"name": "imitator"}, {"name": "bridge", "scale": 5.0},
    {"name": "splitter"}, {"name": "takeover"}, {"name": "framer"}, {"name": "framer", "shame": 5.0}, {"name": "white-box"},
    {"name": "min-max", "knowledge": "groups"}, {"name": "little-is-enough", "knowledge": "groups", "z": -1.5},
    {"name": "model-replacement"}, {"name": "constrain-and-scale"},
]  # fmt: skip
SPLITS: dict[str, dict[str, Any]] = {
    "IID": {"name": "iid"},
    "two swapped groups": {"name": "label_swap", "groups": 2},
    "Dirichlet 0.1": {"name": "dirichlet", "alpha": 0.1},
    "pathological": {"name": "pathological", "labels": 2},
    "rotation": {"name": "rotation", "groups": 4},
}
ATTACKED = ("IID", "two swapped groups")
COUNTS = (4, 8)
Row = dict[str, Any]
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def measured(method: str, split: str, attack: dict[str, Any], seed: int) -> Row:
    """One run: how honest clients fare."""
    config = parse_config(
        {
            "seed": seed, "rounds": ROUNDS, "data": {"name": "digits"}, "split": {**SPLITS[split], "clients": 20},
            "model": {"name": "mlp"}, "training": {"epochs": 3, "batch_size": 10, "learning_rate": 0.1},
            "engine": {"workers": 1}, "attack": attack, **METHODS[method],
        }
    )  # fmt: skip
    parts = assemble(config)
    try:
        for _ in range(ROUNDS):
            one_round(parts.server, parts.engine, parts.hazards)
        tested = parts.engine.evaluate(ROUNDS, *parts.server.assignment())
    finally:
        parts.engine.close()
    honest = np.setdiff1d(np.arange(20), sorted(parts.hazards.attackers))
    fooled = None if tested.fooled is None else float(np.nanmean(tested.fooled[honest]))
    row = {
        "method": method, "split": split, "attack": attack, "seed": seed, "fooled": fooled,
        "accuracy": float(np.nanmean(tested.score[honest])),
        "worst client": float(np.nanmin(tested.score[honest])),
        "honest apart": int((parts.server.state.apart[honest] != FREE).sum()),
        "flocks": int(parts.server.state.flocks),
    }  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def every_run(seeds: int, methods: Sequence[str], attacks: Sequence[str], counts: Sequence[int]) -> list[Row]:
    """All runs of these methods, attacks and numbers of attackers, one after the other."""
    chosen = [attack for attack in ATTACKS if not attacks or attack["name"] in attacks]
    rows = []
    for method in methods:
        for seed in range(1, seeds + 1):
            rows += [measured(method, split, {"name": "none"}, seed) for split in SPLITS]
            for split in ATTACKED:
                for count in counts:
                    rows += [measured(method, split, {**attack, "clients": count}, seed) for attack in chosen]
    return rows


def tables(rows: list[Row]) -> str:
    """What the page shows; a dash where nothing was measured."""
    seeds = len({row["seed"] for row in rows})
    told = [
        f"Digits, 20 clients, {ROUNDS} rounds, {seeds} seed(s): `python benchmarks/defence/measure.py`.",
        "",
    ]
    told += ["Nobody attacks: mean accuracy (and honest clients set apart, of 20).", ""]
    told += [_line(["", *METHODS]), _line(["---"] * (len(METHODS) + 1))]
    for split in SPLITS:
        clean = [_of(rows, method, split, {"name": "none"}) for method in METHODS]
        told.append(
            _line([split, *(f"{_mean(c, 'accuracy')} ({_mean(c, 'honest apart', 0)})" for c in clean)])
        )
    for split in ATTACKED:
        told += [
            "",
            f"{split}: accuracy of the honest with 4 / 8 attackers; in brackets, honest clients set apart.",
            "",
        ]
        told += [_line(["attack", *METHODS]), _line(["---"] * (len(METHODS) + 1))]
        for attack in ATTACKS:
            options = ", ".join(f"{name} {value}" for name, value in attack.items() if name != "name")
            cells = [_cell(rows, method, split, attack) for method in METHODS]
            told.append(_line([f"`{attack['name']}`" + (f" {options}" if options else ""), *cells]))
    return "\n".join(told)


def _cell(rows: list[Row], method: str, split: str, attack: dict[str, Any]) -> str:
    both = [_of(rows, method, split, {**attack, "clients": count}) for count in COUNTS]
    if not any(both):
        return "-"
    text = " / ".join(_mean(some, "accuracy") for some in both)
    apart = sum(row["honest apart"] for some in both for row in some)
    fooled = any(row["fooled"] is not None for some in both for row in some)
    text += f" ({apart})" if apart else ""
    return text + (", fooled " + " / ".join(_mean(some, "fooled") for some in both) if fooled else "")


def _of(rows: list[Row], method: str, split: str, attack: dict[str, Any]) -> list[Row]:
    return [row for row in rows if (row["method"], row["split"], row["attack"]) == (method, split, attack)]


def _mean(rows: list[Row], name: str, digits: int = 2) -> str:
    return f"{np.mean([row[name] for row in rows]):.{digits}f}" if rows else "-"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure, or with --from-json only write the tables again."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--attacks", nargs="*", default=[])
    parser.add_argument("--counts", nargs="*", type=int, default=COUNTS)
    parser.add_argument("--json", type=Path, help="written; what it holds of other methods stays")
    parser.add_argument("--from-json", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    if given.from_json:
        rows = json.loads(given.from_json.read_text())
    else:
        rows = every_run(given.seeds, given.methods, given.attacks, given.counts)
    if given.json:
        before = json.loads(given.json.read_text()) if given.json.exists() else []
        rows += [row for row in before if row["method"] not in given.methods]
        given.json.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    if given.markdown:
        page = given.markdown.read_text()
        start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
        given.markdown.write_text(f"{page[:start]}\n\n{tables(rows)}\n\n{page[stop:]}")
    print(tables(rows))


if __name__ == "__main__":
    main()
