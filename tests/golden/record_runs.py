"""Make the run directories that later releases must open, resume and fork, once for each format:

    python -m tests.golden.record_runs COMMIT NAME      makes runs/NAME-finished, runs/NAME-stopped and runs/NAME.json

With PYTHONPATH at another commit's src they are what that commit writes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import flockwise
from tests.golden.digests import digests, machine

HERE = Path(__file__).parent / "runs"
SMALL: dict[str, Any] = {
    "name": "golden", "seed": 3, "rounds": 8,
    "data": {"name": "digits"},
    "split": {"name": "label_swap", "clients": 8, "groups": 2},
    "model": {"name": "softmax"},
    "training": {"epochs": 2, "batch_size": 16, "learning_rate": 0.2},
    "sampling": {"fraction": 0.6},
    "attack": {"name": "reverse", "clients": 2, "scale": 3.0},
    "faults": {"dropout": 0.1},
    "evaluation": {"every": 1},
    "checkpoint": {"every": 1, "keep": 1, "at": [4]},
    "engine": {"workers": 1},
}  # fmt: skip
STRATEGIES: dict[str, dict[str, Any]] = {
    "0.2": {"name": "custom", "clustering": "agglomerative", "first": 3},
    "format-3": {"name": "ditto", "flocks": {"name": "flic", "warmup": 3}},
}


def main(commit: str, name: str) -> None:
    """A run to its end, and the same one stopped after five rounds."""
    content = {**SMALL, "strategy": STRATEGIES[name]}
    for state in ("finished", "stopped"):
        if (HERE / f"{name}-{state}").exists():
            raise SystemExit(f"{HERE / name}-{state}: is there already, and is never edited")
    flockwise.run(content, out=HERE / f"{name}-finished")
    rounds = iter([False] * 4 + [True])
    flockwise.run(content, out=HERE / f"{name}-stopped", stop=lambda: next(rounds, True))
    told = {"commit": commit, "machine": machine(), "digests": digests(HERE / f"{name}-finished")}
    (HERE / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
