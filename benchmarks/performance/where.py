"""Where the compiled steps of the papers' CNN and of MobileNetV1 spend their time on one core.

    python benchmarks/performance/where.py [--json FILE]

Samples of the CPU clock by Linux's perf, by what a kernel does. For MobileNet also how fast its matrix products are beside
a product of 768 in the same run: what is left to gain there.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn
from training_kernels import peak

from flockwise.models import Layout, build
from flockwise.training import Recipe, choose_trainer

HZ = 2000
MODELS: dict[str, tuple[tuple[int, int, int], int, int, int]] = {  # shape, samples, batch, how often trained
    "cnn": ((1, 28, 28), 600, 10, 12),
    "mobilenet": ((3, 32, 32), 64, 32, 12),
}
PRODUCTS = "matrix products of 1x1 convolutions"
PARTS = {  # what the names of functions begin with; the first that fits counts
    "cnn": {
        "convolutions, forward": r"Winograd|Direct",
        "convolutions, backward": r"backward_pixels|backward_weights",
        "lists of gradients that are left": r"collect",
        "linear layers": r"backward_sparse|forward|backward",
        "weights in the kernels' layout": r"Network|pack",
    },
    "mobilenet": {
        PRODUCTS: r"multiply_rows|add_outer|for_equal_tiles|for_columns",
        "depthwise convolutions": r"Chain::\w+_depthwise|forward<|backward_halved|backward_weights",
        "normalisation and rectifier": r"Moments|Chain|Normalisation|fill_rows",
        "weights in the kernels' layout": r"pack",
    },
}


def train(model: str) -> None:
    """What is looked at; prints the CPU seconds of one training, after one that does not count."""
    torch.set_num_threads(1)
    shape, samples, batch, times = MODELS[model]
    random = np.random.default_rng(0)
    y = random.integers(0, 10, samples)
    x = random.random((samples, *shape[1:], shape[0]), dtype=np.float32)
    module, recipe = build(model, shape, 10, seed=0), Recipe(1, batch, 0.01)
    trainer, _ = choose_trainer(module, shape, recipe)
    vector, orders = Layout.of(module).read(module), random.permutation(samples)[None]
    for _ in range(times):
        trainer.train(vector, x, y, orders, recipe)
    print(peak())


def product_operations(model: str) -> int:
    """Floating point operations of the dense convolutions in all trainings: forward, and twice that back.

    The images need no gradient, which is counted all the same: less than a hundredth.
    """
    shape, samples, _, times = MODELS[model]
    module, found = build(model, shape, 10, seed=0), [0]

    def count(layer: nn.Module, _: object, result: torch.Tensor) -> None:
        found[0] += 2 * layer.weight.numel() * result[0, 0].numel()  # type: ignore[operator,union-attr]

    dense = [layer for layer in module.modules() if isinstance(layer, nn.Conv2d) and layer.groups == 1]
    for layer in dense:
        layer.register_forward_hook(count)
    module.eval()(torch.zeros(1, *shape))
    return 3 * found[0] * samples * times


def looked_at(model: str) -> dict[str, Any]:
    """Shares of the kernels' time, and of MobileNet the speed of its products."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        record = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(HZ), "-o", data]
        told = subprocess.run(
            [*record, sys.executable, __file__, "--train", model], check=True, capture_output=True, text=True
        )
        report = [
            "perf",
            "report",
            "-i",
            data,
            "--no-children",
            "--sort",
            "symbol",
            "--stdio",
            "-n",
            "-t",
            ";",
        ]
        lines = subprocess.run(report, check=True, capture_output=True, text=True).stdout.splitlines()
    samples = dict.fromkeys([*PARTS[model], "other"], 0)
    for line in lines:
        if fits := re.match(r"[^;]*;\s*(\d+)\s*;\[\.\] (?:void |auto )?flockwise::(.*)", line):
            names = [part for part, pattern in PARTS[model].items() if re.match(pattern, fits[2])]
            samples[(names or ["other"])[0]] += int(fits[1])
    total = sum(samples.values())
    found: dict[str, Any] = {"shares": {part: count / total for part, count in samples.items()}}
    found["seconds"] = total / HZ
    if model == "mobilenet":
        speed = product_operations(model) / (samples[PRODUCTS] / HZ) / 1e9
        found |= {"products_gflops": speed, "peak_gflops": float(told.stdout.split()[-1])}
    return found


def main() -> None:
    """Look, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--train", choices=MODELS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options.train)
    about = {
        "command": "python benchmarks/performance/where.py",
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 2),
        "results": {model: looked_at(model) for model in MODELS},
    }
    print(json.dumps(about, indent=1))
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
