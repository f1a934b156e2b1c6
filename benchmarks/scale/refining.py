"""Flocks inside flocks seen through sketches: FLIC's second look with and without taking off what sketches add to the noise.

    python benchmarks/scale/refining.py --json benchmarks/results/refining.json

Fashion-MNIST and seeds that no other measurement of sketches has, softmax regression, updates of all at one model. Crowds
of one kind (IID, skewed labels) and of several (swaps, turns, both), each compared whole and as sketches; two seeds of the
crowd, two of the sketch. "Before" asks that parts be 3 apart as they are seen, "after" as they would be if compared exactly
(`stages/separation.py`), and of more than 100 clients two thirds of that (refining_blur.json is without the latter).

Decided before looking. Kept if (a) no crowd of one kind has more flocks than the larger of what whole updates and sketches
gave before, at any width; and (b) where there are kinds, the mean ARI with them is at no width lower than before. Told
besides: how near both are to whole updates.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sketches import FLIC, updates_of

from flockwise.kernels.fold import Fold
from flockwise.metrics import adjusted_rand
from flockwise.similarity.sketches import Kind
from flockwise.stages import Known, grouping
from flockwise.stages.grouping import FEW_TO_REFINE
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import first_state

WIDTHS = (128, 256, 512, 1024, 2048)
SEEDS, FOLDS = (11, 12), (21, 22)
ONE_KIND: dict[str, dict[str, Any]] = {
    "IID, 20 clients": {"name": "iid", "clients": 20, "samples": 90},
    "IID, 75 clients": {"name": "iid", "clients": 75, "samples": 90},
    "IID, 600 clients": {"name": "iid", "clients": 600, "samples": 90},
    "skewed labels, 75 clients": {"name": "dirichlet", "clients": 75, "alpha": 0.5},
    "skewed labels, 300 clients": {"name": "dirichlet", "clients": 300, "alpha": 0.5},
    "badly skewed labels, 300 clients": {"name": "dirichlet", "clients": 300, "alpha": 0.1},
    "two labels each, 300 clients": {"name": "pathological", "clients": 300},
}
KINDS: dict[str, dict[str, Any]] = {
    "5 swaps x 4 turns, 200 clients": {
        "name": "kinds",
        "clients": 200,
        "samples": 90,
        "swaps": 5,
        "turns": 4,
    },
    "5 swaps x 4 turns, 600 clients": {
        "name": "kinds",
        "clients": 600,
        "samples": 90,
        "swaps": 5,
        "turns": 4,
    },
    "5 swaps, 100 clients": {"name": "kinds", "clients": 100, "samples": 90, "swaps": 5, "turns": 1},
    "4 turns, 60 clients": {"name": "rotation", "clients": 60, "samples": 90, "groups": 4},
}


def flocks(rows: np.ndarray, lost: float, before: bool = False) -> np.ndarray:
    """FLIC's flocks, as they are now or as they were."""
    grouping.FEW_TO_REFINE = len(rows) if before else FEW_TO_REFINE
    known = Known(np.arange(len(rows)), lambda: rows, sketched=bool(lost), lost=lost)
    return FLIC.find(known, Round(first_state(np.zeros((1, 1)), len(rows)), Setting())).labels


def measured(split: dict[str, Any], one_kind: bool, say: Callable[..., None] = print) -> list[dict[str, Any]]:
    """All sketches of a crowd."""
    found = []
    for seed in SEEDS:
        rows, groups = updates_of({
            "data": {"name": "fashion-mnist"}, "model": {"name": "softmax"}, "split": split, "seed": seed,
            "training": {"epochs": 5, "batch_size": 10, "learning_rate": 0.1},
        })  # fmt: skip
        truth = np.zeros(len(rows)) if one_kind or groups is None else groups
        whole, whole_before = flocks(rows, 0.0), flocks(rows, 0.0, before=True)
        for width in WIDTHS:
            for fold in FOLDS:
                short = Fold(rows.shape[1], width, fold)(rows)
                cell: dict[str, Any] = {
                    "seed": seed, "fold": fold, "width": width, "whole": told(whole, truth, whole),
                    "whole_before": told(whole_before, truth, whole),
                }  # fmt: skip
                cell["before"] = told(flocks(short, 0.0, before=True), truth, whole)
                cell["after"] = told(flocks(short, Kind(rows.shape[1], width, fold).lost), truth, whole)
                found.append(cell)
        say(seed, found[-1])
    return found


def told(labels: np.ndarray, truth: np.ndarray, whole: np.ndarray) -> dict[str, float]:
    """How many flocks, and how alike to the kinds and to the flocks of whole updates."""
    return {
        "flocks": int(labels.max()) + 1, "ari": adjusted_rand(labels, truth), "with_whole": adjusted_rand(labels, whole)
    }  # fmt: skip


def main() -> None:
    """Measure what the file does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    done: dict[str, Any] = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
    for name, split in {**ONE_KIND, **KINDS}.items():
        if name not in done:
            print(name, flush=True)
            done[name] = measured(split, name in ONE_KIND)
            given.json.write_text(json.dumps(done, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
