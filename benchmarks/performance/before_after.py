"""Rounds of this release beside those of an older checkout, on the same work in the same run.

    git worktree add /tmp/before bd37606
    python benchmarks/performance/before_after.py --before /tmp/before --data DIR [--json FILE]

Both train and aggregate in processes of their own and take turns, as in engine.py. The reading, fixed before: the median
over turns of the seconds a round of this release over those of the older one in the same turn; the bar is 1, not slower. Of
whole runs the same with every client tested in every round, which is what the older release does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from turns import Way, interleaved

from engine import A, B, cpu

HERE = Path(__file__).parent
# What is measured: workload, way of this release, way of the older one, turns, rounds in each, rounds that do not count.
PARTS = {
    "A": (A, "ours", "ours", 10, 2, 1),
    "B": (B, "ours", "ours", 20, 60, 300),
    "B, whole runs": (B, "tested", "whole", 20, 30, 300),
}


def starts(
    content: dict[str, Any], now: str, then: str, before: Path, data: Path
) -> dict[str, Callable[[], Way]]:
    """How to start this release and the older one."""
    config = json.dumps({**content, "engine": {"path": "native"}})
    scripts = [before / "benchmarks" / name for name in ("engine_ways.py", "performance/ways.py")]
    script = next(one for one in scripts if one.exists())
    older = {"PYTHONPATH": f"{before / 'src'}:{script.parent}"}
    return {
        "before": lambda: Way([sys.executable, str(script), then, config, str(data)], older),
        "now": lambda: Way([sys.executable, str(HERE / "ways.py"), now, config, str(data)]),
    }


def compared(before: Path, data: Path) -> dict[str, Any]:
    """Every part: the ratio of each turn, and its median."""
    found: dict[str, Any] = {}
    for name, (content, now, then, turns, rounds, warm) in PARTS.items():
        load = os.getloadavg()[0]
        rows = interleaved(starts(content, now, then, before, data), rounds, turns, warm, {})
        each = {way: [statistics.mean(turn) for turn in row["turns"]] for way, row in rows.items()}
        ratios = [new / old for new, old in zip(each["now"], each["before"], strict=True)]
        found[name] = {
            "ratio": statistics.median(ratios), "ratios": ratios,
            "ms_a_round": {way: 1000 * statistics.median(seconds) for way, seconds in each.items()},
            "accuracy": {way: row["accuracy"] for way, row in rows.items()},
            "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        }  # fmt: skip
        print(name, {key: found[name][key] for key in ("ratio", "ms_a_round", "load")}, flush=True)
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the older release")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLOCKWISE_DATA"), help="where MNIST lies"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    commits = {
        name: subprocess.check_output(["git", "-C", str(folder), "rev-parse", "HEAD"], text=True).strip()
        for name, folder in (("before", options.before), ("now", HERE))
    }
    about = {
        "command": "python benchmarks/performance/before_after.py --before CHECKOUT --data DIR",
        "date": time.strftime("%Y-%m-%d"), "cpu": cpu(), "commits": commits,
        "parts": compared(options.before.resolve(), options.data),
    }  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
