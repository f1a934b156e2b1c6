"""What the Ray engine costs beside the local one on the same cores, on workload A of benchmarks/performance/engine.py.

    python benchmarks/scale/ray_overhead.py --data DIR [--quick] [--json FILE]

Both train and aggregate the same rounds in processes of their own and take turns, so that what else the machine does hits
both alike. The reading, fixed before: the median over turns of Ray's seconds a round over the local engine's in the same
turn; the bar is 1.10. Ray's workers have the niceness of the local ones. The CPU time of each is told beside it, of Ray's
own processes too: all of it, and what was used in the own turns. Ray's processes work while the other has its turn.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
PERFORMANCE = Path(__file__).parents[1] / "performance"
sys.path.insert(0, str(PERFORMANCE))

from turns import Way, interleaved  # noqa: E402

from engine import A  # noqa: E402
from flockwise.kernels.parallel import available_cores  # noqa: E402

BAR = 1.10
ENGINES: dict[str, dict[str, Any]] = {"local": {}, "ray": {"name": "ray", "address": "local"}}


def ways(data: Path) -> dict[str, Any]:
    """How to start each engine."""

    def start(engine: dict[str, Any]) -> Any:
        config = json.dumps({**A, "engine": {**engine, "path": "native"}})
        return lambda: Way([sys.executable, str(PERFORMANCE / "ways.py"), "ours", config, str(data)])

    return {name: start(engine) for name, engine in ENGINES.items()}


def measured(data: Path, turns: int, rounds: int) -> dict[str, Any]:
    """Turns of both, and the reading."""
    skipped: dict[str, str] = {}
    found = interleaved(ways(data), rounds, turns, 2, skipped)
    if skipped:
        raise SystemExit(f"left out: {skipped}")
    seconds = {name: [statistics.mean(turn) for turn in way["turns"]] for name, way in found.items()}
    ratios = [there / here for here, there in zip(seconds["local"], seconds["ray"], strict=True)]
    return {
        "ratio": statistics.median(ratios), "ratios": ratios, "bar": BAR, "within": statistics.median(ratios) <= BAR,
        "seconds_a_round": {name: statistics.median(values) for name, values in seconds.items()},
        "cpu_seconds_a_round": {name: way["cpu"] / (turns * rounds) for name, way in found.items()},
        "cpu_seconds_a_round_in_turns": {
            name: way["cpu_in_turns"] / (turns * rounds) for name, way in found.items()
        },
        "accuracy": {name: way["accuracy"] for name, way in found.items()},
        "startup": {name: way["startup"] for name, way in found.items()},
    }  # fmt: skip


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLOCKWISE_DATA"), help="where MNIST lies"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data (or FLOCKWISE_DATA): where MNIST lies")
    turns, rounds = (5, 2) if options.quick else (20, 5)
    before = os.getloadavg()[0]
    about = {
        "command": "python benchmarks/scale/ray_overhead.py --data DIR" + (" --quick" if options.quick else ""),
        "date": time.strftime("%Y-%m-%d"), "cores": available_cores(), "machine": platform.machine(),
        "versions": {name: version(name) for name in ("torch", "numpy", "ray")},
        "turns": turns, "rounds": rounds,
        **measured(options.data, turns, rounds),
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
    }  # fmt: skip
    print(json.dumps(about, indent=1))
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
