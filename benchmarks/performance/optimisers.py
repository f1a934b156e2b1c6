"""What momentum and Adam cost in the native path beside plain SGD, on one core.

    python benchmarks/performance/optimisers.py [--quick] [--json FILE] [--before FILE]

All take turns in one process, in CPU seconds. The readings, fixed before: the median over turns of an optimiser's time
over plain SGD's in the same turn (the bar: 1, as fast), and, with the compiled kernels of another commit (`--before`, a
library made from its kernels.cpp), the median of their time over ours; and whether the models have the same bits.
"""

import argparse
import ctypes
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from numpy.typing import NDArray

from flockwise.models import Layout, build
from flockwise.training import Recipe
from flockwise.training.native import NativeTrainer

SHAPE, SAMPLES = (1, 28, 28), 600
WORKLOADS = {"cnn": 1, "mlp": 5, "softmax": 20}  # epochs, so that a turn is long enough to time


def recipes(epochs: int) -> dict[str, Recipe]:
    """Batches of 10, as in the papers."""
    return {
        "sgd": Recipe(epochs, 10, 0.01),
        "momentum": Recipe(epochs, 10, 0.01, 0.9, 1e-4),
        "adam": Recipe(epochs, 10, 0.001, optimizer="adam"),
    }


def samples(epochs: int) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Images, their classes, and the order of each epoch."""
    random = np.random.default_rng(0)
    y = random.integers(0, 10, SAMPLES)
    patterns = random.random((10, *SHAPE[1:], 1), dtype=np.float32)
    x = patterns[y] + random.normal(0, 0.3, (SAMPLES, *SHAPE[1:], 1)).astype(np.float32)
    return x, y, np.stack([random.permutation(SAMPLES) for _ in range(epochs)])


def measured(model: str, epochs: int, turns: int, before: Path | None) -> dict[str, dict[str, Any]]:
    """CPU seconds of each optimiser, and the readings."""
    x, y, orders = samples(epochs)
    module = build(model, SHAPE, 10, seed=0)
    vector = Layout.of(module).read(module)
    trainers = {"now": NativeTrainer(module, SHAPE)}
    if before:
        trainers["before"] = NativeTrainer(module, SHAPE)
        trainers["before"]._library = ctypes.CDLL(str(before))
    ways = [(name, when) for name in recipes(epochs) for when in trainers]
    seconds: dict[tuple[str, str], list[float]] = {way: [] for way in ways}
    models: dict[tuple[str, str], bytes] = {}
    for turn in range(turns + 1):
        for name, when in ways if turn % 2 else reversed(ways):
            began = time.process_time()
            trained, _ = trainers[when].train(vector, x, y, orders, recipes(epochs)[name])
            took = time.process_time() - began
            models[name, when] = trained.tobytes()
            if turn:  # the first one warms up
                seconds[name, when].append(took)

    def ratio(one: tuple[str, str], other: tuple[str, str]) -> float:
        return statistics.median(a / b for a, b in zip(seconds[one], seconds[other], strict=True))

    found = {}
    for name in recipes(epochs):
        own = (name, "now")
        found[name] = {
            "over_sgd": ratio(own, ("sgd", "now")),
            "seconds": {when: seconds[name, when] for when in trainers},
        }
        if before:
            found[name] |= {
                "over_sgd_before": ratio((name, "before"), ("sgd", "before")),
                "before_over_now": ratio((name, "before"), own),
                "same_bits": models[name, "before"] == models[own],
            }
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few turns")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--before", type=Path, help="a library compiled from another commit's kernels.cpp")
    options = parser.parse_args()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    found: dict[str, Any] = {
        model: measured(model, epochs, 3 if options.quick else 25, options.before)
        for model, epochs in WORKLOADS.items()
    }
    for model, rows in found.items():
        for name, row in rows.items():
            told = {key: round(value, 3) for key, value in row.items() if key != "seconds"}
            print(f"{model:8} {name:9} {told}", flush=True)
    if options.json:
        about = {
            "command": "python benchmarks/performance/optimisers.py" + (" --quick" if options.quick else ""),
            "date": time.strftime("%Y-%m-%d"),
            "load": [round(load, 2), round(os.getloadavg()[0], 2)],
            "results": found,
        }
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
