"""Attackers that know the defence against several methods, and what methods do to the innocent: docs/methods/shepherd.md.

    python benchmarks/defence/measure.py --seeds 5
    python benchmarks/defence/measure.py --page        writes the tables again, runs nothing

Embedded digits, 20 clients, all of them in every round. Statistic, decided before the first run: the accuracy of all honest
clients, those set apart included, after 25 rounds; mean and standard deviation over seeds. "Worst" is the lowest accuracy
over all attacks for each seed, then the mean. The order is such that a stop leaves whole tables of three seeds (they show
whole seeds only); what there is is not run again.
benchmarks/results/defence.json has the first version of shepherd, one seed; defence_courses.json the second, three seeds
without attackers and one with; defence_own_steps.json the third, in which who moved was on no trial, and the other methods,
which have not changed since; defence_trial.json has shepherd as it is, and is shown once it has all that the third has.
"""

import argparse
import json
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.config import parse_config
from flockwise.runs.assembly import assemble
from flockwise.runs.loop import one_round
from flockwise.stages import FREE

ROUNDS, CLIENTS = 25, 20
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
OURS, OTHERS = RESULTS / "defence_trial.json", RESULTS / "defence_own_steps.json"
PAGE = ROOT / "docs" / "methods" / "shepherd.md"
METHODS: dict[str, dict[str, Any]] = {
    "shepherd": {"strategy": {"name": "shepherd", "parole_after": 10}},
    "FedAvg": {"strategy": {"name": "fedavg"}},  # no defence
    "flic, judge, mean": {
        "strategy": {"name": "flic", "patience": 3, "judge": "validation", "rollback": True}
    },
    "flic, median": {"strategy": {"name": "flic", "patience": 3}, "aggregation": {"name": "median"}},
    "byzantine-cfl": {"strategy": {"name": "byzantine-cfl"}},
}
NONE: dict[str, Any] = {"name": "none"}
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
COUNTS = (2, 4, 8, 9)  # attackers
SHOWN = (4, 9)  # attack by attack; run before the others
ENOUGH = 3  # seeds of everything before any further seed
Row = dict[str, Any]
Place = tuple[str, str, dict[str, Any]]  # method, split, attack
BEFORE_TRIALS = "Shepherd in these tables is its version before, in which who moved was on no trial.\n\n"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def measured(method: str, split: str, attack: dict[str, Any], seed: int) -> Row:
    """One run: how honest clients fare."""
    config = parse_config(
        {
            "seed": seed, "rounds": ROUNDS, "data": {"name": "digits"}, "split": {**SPLITS[split], "clients": CLIENTS},
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
    honest = np.setdiff1d(np.arange(CLIENTS), sorted(parts.hazards.attackers))
    fooled = None if tested.fooled is None else float(np.nanmean(tested.fooled[honest]))
    return {
        "method": method, "split": split, "attack": attack, "seed": seed, "fooled": fooled,
        "accuracy": float(np.nanmean(tested.score[honest])),
        "worst client": float(np.nanmin(tested.score[honest])),
        "honest apart": int((parts.server.state.apart[honest] != FREE).sum()),
        "flocks": int(parts.server.state.flocks),
    }  # fmt: skip


def places(count: int) -> Iterator[Place]:
    """Every cell with so many attackers."""
    if not count:
        yield from ((method, split, NONE) for split in SPLITS for method in METHODS)
        return
    for split in ATTACKED:
        for attack in ATTACKS:
            yield from ((method, split, {**attack, "clients": count}) for method in METHODS)


def in_order(seeds: int) -> Iterator[tuple[Place, int]]:
    """All runs: what is shown attack by attack first, three seeds of everything, then more."""
    counts = (0, *SHOWN, *(count for count in COUNTS if count not in SHOWN))
    few, more = range(1, min(seeds, ENOUGH) + 1), range(ENOUGH + 1, seeds + 1)
    for some, these in (*((few, (count,)) for count in counts), (more, counts)):
        for seed in some:
            yield from ((place, seed) for count in these for place in places(count))


def carry_out(seeds: int, only: int | None, methods: Container[str], out: Path | None) -> None:
    """Run what is missing, one after the other; every run is on record when it ends."""
    done = {_key(row) for row in [*_known(), *(_read(out) if out else [])]}
    for (method, split, attack), seed in in_order(seeds):
        if method not in methods or seed != (only or seed):
            continue
        if _key({"method": method, "split": split, "attack": attack, "seed": seed}) in done:
            continue
        row = measured(method, split, attack, seed)
        print(json.dumps(row), flush=True)
        file = out or (OURS if method == "shepherd" else OTHERS)
        lines = ",\n".join(map(json.dumps, [*_read(file), row]))
        file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def tables(rows: list[Row]) -> str:
    """What the page shows; a dash where nothing was measured."""
    rows = [row for count in (0, *COUNTS) for row in _whole(rows, count)]
    head = (
        f"Digits, {CLIENTS} clients, {ROUNDS} rounds: mean ± standard deviation over {_seeds(rows, 0)} seeds"
    )
    told = [f"{head}, by `python benchmarks/defence/measure.py`.", ""]
    told += ["Nobody attacks: accuracy (and honest clients set apart, of 20, on average).", ""]
    told += _head("")
    for split in SPLITS:
        clean = [_of(rows, method, split, NONE) for method in METHODS]
        told.append(_line([split, *(f"{_spread(c, 'accuracy')}{_apart(c)}" for c in clean)]))
    for split in ATTACKED:
        told += ["", *_worst(rows, split), "", *_by_attack(rows, split)]
    return "\n".join(told)


def _whole(rows: list[Row], count: int) -> list[Row]:
    """The rows with so many attackers, of the seeds that all methods that were measured have whole."""
    mine = [row for row in rows if row["attack"].get("clients", 0) == count]
    cells = len(list(places(count))) // len(METHODS)
    held = [(row["method"], row["seed"]) for row in mine]
    whole = {
        method: {seed for of, seed in held if of == method and held.count((of, seed)) == cells}
        for method in METHODS
    }
    seeds = set.intersection(*(some for some in whole.values() if some)) if any(whole.values()) else set()
    return [row for row in mine if row["seed"] in seeds & whole[row["method"]]]


def _seeds(rows: list[Row], count: int) -> int:
    return len({row["seed"] for row in rows if row["attack"].get("clients", 0) == count})


def _worst(rows: list[Row], split: str) -> list[str]:
    """The worst of all attacks for each seed, by how many attack."""
    told = [
        f"**{split}**: accuracy of the honest under the worst of {len(ATTACKS)} attacks, chosen for each seed.",
        "",
    ]
    told += _head("attackers")
    told.append(_line(["none", *(_spread(_of(rows, method, split, NONE), "accuracy") for method in METHODS)]))
    for count in sorted(COUNTS):
        cells = []
        for method in METHODS:
            whole = [_of(rows, method, split, {**attack, "clients": count}) for attack in ATTACKS]
            cells.append(_spread(_lowest(whole), "accuracy"))
        if _seeds(rows, count):
            told.append(_line([_known_share(rows, count), *cells]))
    return told


def _lowest(whole: list[list[Row]]) -> list[Row]:
    """Of each seed that has all attacks, the run with the lowest accuracy."""
    seeds = set.intersection(*({row["seed"] for row in some} for some in whole))
    return [
        min((row for some in whole for row in some if row["seed"] == seed), key=lambda row: row["accuracy"])
        for seed in sorted(seeds)
    ]


def _by_attack(rows: list[Row], split: str) -> list[str]:
    shares = " / ".join(_known_share(rows, count) for count in _shown(rows))
    told = [
        f"{split}, attack by attack, with {shares} attackers; in brackets honest clients set apart on average.",
        "",
    ]
    told += _head("attack")
    for attack in ATTACKS:
        options = ", ".join(f"{name} {value}" for name, value in attack.items() if name != "name")
        cells = [_cell(rows, method, split, attack) for method in METHODS]
        told.append(_line([f"`{attack['name']}`" + (f" {options}" if options else ""), *cells]))
    return told


def _cell(rows: list[Row], method: str, split: str, attack: dict[str, Any]) -> str:
    both = [_of(rows, method, split, {**attack, "clients": count}) for count in _shown(rows)]
    text = " / ".join(_spread(some, "accuracy") + _apart(some) for some in both)
    fooled = any(row["fooled"] is not None for some in both for row in some)
    return text + (", fooled " + " / ".join(_spread(some, "fooled") for some in both) if fooled else "")


def _shown(rows: list[Row]) -> list[int]:
    return [count for count in SHOWN if _seeds(rows, count)]


def _known_share(rows: list[Row], count: int) -> str:
    seeds = _seeds(rows, count)
    return f"{100 * count / CLIENTS:.0f} % ({seeds} seed{'s' if seeds > 1 else ''})"


def _apart(rows: list[Row]) -> str:
    mean = float(np.mean([row["honest apart"] for row in rows])) if rows else 0.0
    return f" ({mean:.1f})" if mean else ""


def _of(rows: list[Row], method: str, split: str, attack: dict[str, Any]) -> list[Row]:
    return [row for row in rows if (row["method"], row["split"], row["attack"]) == (method, split, attack)]


def _spread(rows: list[Row], name: str) -> str:
    values = [row[name] for row in rows]
    if not values:
        return "-"
    return f"{np.mean(values):.2f}" + (f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else "")


def _head(first: str) -> list[str]:
    return [_line([first, *METHODS]), _line(["---"] * (len(METHODS) + 1))]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _key(row: Row) -> str:
    return json.dumps([row[name] for name in ("method", "split", "attack", "seed")], sort_keys=True)


def _known() -> list[Row]:
    return [*_read(OURS), *(row for row in _read(OTHERS) if row["method"] != "shepherd")]


def _shown_rows() -> tuple[list[Row], str]:
    """What the page shows, and what it says of our version: the one before, as long as it has seeds that this one lacks."""
    before = [row for row in _read(OTHERS) if row["method"] == "shepherd"]
    behind = any(_seeds(_whole(_read(OURS), n), n) < _seeds(_whole(before, n), n) for n in (0, *COUNTS))
    others = [row for row in _read(OTHERS) if row["method"] != "shepherd"]
    return ([*before, *others], BEFORE_TRIALS) if behind else ([*_read(OURS), *others], "")


def _read(path: Path) -> list[Row]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def main() -> None:
    """Measure what is missing, then write the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--only", type=int, metavar="SEED", help="for several at once, each into a file of its own"
    )
    parser.add_argument("--method", action="append", choices=METHODS, help="only these; may be repeated")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--page", action="store_true", help="run nothing")
    given = parser.parse_args()
    if not given.page:
        carry_out(given.seeds, given.only, given.method or METHODS, given.out)
    page = PAGE.read_text(encoding="utf-8")
    start, stop = page.index(BEGIN) + len(BEGIN), page.index(END)
    rows, told = _shown_rows()
    PAGE.write_text(f"{page[:start]}\n\n{told}{tables(rows)}\n\n{page[stop:]}", encoding="utf-8")


if __name__ == "__main__":
    main()
