"""What FL+HC's `threshold = "auto"` and FLIC's `warmup = "auto"` choose on real MNIST.

    FLOCKWISE_DATA=... python benchmarks/automatic_choices/measure.py [--quick]

Writes benchmarks/results/automatic_choices.json, from which page.py beside this
file writes docs/automatic-choices.md.

Every metric and linkage sees the same updates. The reduced setting takes half a minute for a seed, the
paper's own (100 clients, its CNN) ten minutes for a split; what was trained is kept, see census.py.
The criterion was tuned on seed 1 of the reduced setting and on digits, and one limit of it was changed
after seeing seed 1 of the paper's setting. All other seeds are held out.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from census import KEPT, PAPER, REDUCED, WOLF, Census, Setting, censuses

from flockwise.clustering import agglomerative, rejoin
from flockwise.metrics import adjusted_rand
from flockwise.runs.loop import one_round
from flockwise.stages.separation import separation
from flockwise.stages.state import UNPLACED
from flockwise.strategies import STRATEGIES

TUNED_ON = 1
REDUCED_SEEDS = (TUNED_ON, 2, 3, 4, 5, 6, 7)
PAPER_RUNS = (("label swap", TUNED_ON), ("IID", TUNED_ON), ("label swap", 2))
CELLS = [
    (metric, linkage) for metric in ("l1", "l2", "cosine") for linkage in ("average", "complete", "single")
]
CELLS.append(("l2", "ward"))
REDUCED_SPLITS = ("label swap", "IID", "pathological", "label swap, wolves")
FLIC_ROUNDS = 50
LIMIT = STRATEGIES["fl-hc"].defaults["min_separation"]


def fl_hc_cells(setting: Setting, split: str, seed: int) -> Iterator[dict[str, Any]]:
    """What `fl-hc` itself would decide for every n, metric and linkage, and whether that is right."""
    for census in censuses(setting, split, seed):
        for metric, linkage in CELLS:
            square = census.squares[metric]
            labels = agglomerative(square, linkage, "auto")  # type: ignore[arg-type]
            apart = separation(square, labels, "distance")
            kept = labels if apart >= LIMIT else np.zeros_like(labels)
            yield {
                "setting": setting.name, "seed": seed, "split": split, "n": census.n, "metric": metric,
                "linkage": linkage, "flocks": int(kept.max()) + 1, "separation": round(apart, 2),
                **_judged(kept, census),
            }  # fmt: skip


def _judged(labels: np.ndarray, census: Census) -> dict[str, Any]:
    """The ARI of the honest clients, and how many wolves are in a flock without any of them."""
    if census.groups is None:
        return {"ari": None}
    honest = census.groups != WOLF
    judged: dict[str, Any] = {"ari": round(adjusted_rand(labels[honest], census.groups[honest]), 3)}
    if not honest.all():
        judged["wolves_alone"] = int((~np.isin(labels[~honest], labels[honest])).sum())
    return judged


def without(constant: str, value: float) -> list[dict[str, Any]]:
    """How many label-swap cells of each run are right with another limit for clients left over."""
    usual = getattr(rejoin, constant)
    setattr(rejoin, constant, value)
    runs = [(REDUCED, seed) for seed in REDUCED_SEEDS]
    runs += [(PAPER, seed) for split, seed in PAPER_RUNS if split == "label swap"]
    rows = []
    for setting, seed in runs:
        right = sum(cell["ari"] == 1.0 for cell in fl_hc_cells(setting, "label swap", seed))
        rows.append({"setting": setting.name, "seed": seed, constant: str(value), "right": right})
    setattr(rejoin, constant, usual)
    return rows


def flic_row(split: str) -> dict[str, Any]:
    """The round in which `auto` acts, and whether the flocks are right then; kept like the distances."""
    path = KEPT / f"flic-{split.replace(' ', '-')}.json"
    if not path.exists():
        path.write_text(json.dumps(_flic(split)), encoding="utf-8")
    row: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return row


def _flic(split: str) -> dict[str, Any]:
    parts = REDUCED.parts(split, TUNED_ON, {"name": "flic", "warmup": "auto"})
    acted = None
    for _ in range(FLIC_ROUNDS):
        record, _ = one_round(parts.server, parts.engine, parts.hazards)
        if any(event.kind == "flocks" for event in record.events):
            acted = record.round
            break
    labels, groups = parts.server.state.labels, parts.federation.groups
    placed = labels != UNPLACED
    ari = None if groups is None else round(adjusted_rand(labels[placed], groups[placed]), 3)
    return {"seed": TUNED_ON, "split": split, "acts_at_round": acted, "watched_rounds": record.round,
            "flocks": parts.server.state.flocks, "ari": ari}  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed of one split, nothing written")
    if parser.parse_args().quick:
        found = list(fl_hc_cells(REDUCED, "label swap", TUNED_ON))
        print(f"label swap, seed {TUNED_ON}: right in {sum(c['ari'] == 1.0 for c in found)} of {len(found)}")
        return
    started = time.perf_counter()
    cells: list[dict[str, Any]] = []
    for seed in REDUCED_SEEDS:
        for split in REDUCED_SPLITS:
            cells += fl_hc_cells(REDUCED, split, seed)
        print(f"FL+HC, seed {seed}: {time.perf_counter() - started:.0f} s", flush=True)
    for split, seed in PAPER_RUNS:
        cells += fl_hc_cells(PAPER, split, seed)
    result = {
        "settings": [asdict(REDUCED), asdict(PAPER)],
        "min_separation": LIMIT,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, one used",
        "other limits": [*without("LEAST_GAIN", np.inf), *without("MOST_AWAY", 1.0)],
        "flic": [flic_row(split) for split in ("label swap", "rotation", "IID")],
        "fl-hc": cells,
    }
    path = Path(__file__).parents[1] / "results" / "automatic_choices.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{time.perf_counter() - started:.0f} s, written to {path.name}")


if __name__ == "__main__":
    main()
