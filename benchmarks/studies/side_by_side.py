"""Forty small cells one after the other and side by side, in turn, on this machine.

    python benchmarks/studies/side_by_side.py [--turns 3] [--json FILE]

The ratio is of whole studies, with starting and ending workers, in processes of their own: median over turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from flockwise.kernels.parallel import available_cores
from flockwise.studies.surroundings import surroundings

STUDY = """
seeds = 5
base = { rounds = 20, split = { name = "label_swap", clients = 20, groups = 2 }, model.name = "mlp", training.epochs = 2 }
[vary.method]
FedAvg = {}
FLIC = { strategy = { name = "flic", warmup = 8 } }
median = { aggregation.name = "median" }
communities = { strategy.name = "communities" }
[vary.attack]
none = {}
reverse = { attack = { name = "reverse", clients = 4 } }
"""


def seconds(file: Path, jobs: int) -> float:
    """How long the command takes from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [
            sys.executable,
            "-m",
            "flockwise",
            "study",
            str(file),
            "--out",
            folder,
            "--jobs",
            str(jobs),
        ]
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - began


def main() -> None:
    """Take turns, print and keep what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    cores = available_cores()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forty.toml"
        file.write_text(STUDY)
        before = os.getloadavg()[0]
        turns = [(seconds(file, 1), seconds(file, cores)) for _ in range(chosen.turns)]
    found: dict[str, Any] = {
        "cells": 40, "cores": cores, "load_before": before, "one_after_the_other": [one for one, _ in turns],
        "side_by_side": [many for _, many in turns], "ratio": statistics.median(one / many for one, many in turns),
        **surroundings(cores),
    }  # fmt: skip
    print(f"{found['ratio']:.2f}x on {cores} cores; seconds: {turns}; load before: {before:.1f}")
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
