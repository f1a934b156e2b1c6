"""Local training on one core: the usual loop, our torch path without and with compiled steps, our native path.

    python benchmarks/performance/training_kernels.py [--quick] [--json FILE] [--only W1,W3]

The usual loop is what federated learning frameworks do: a DataLoader and torch.optim.SGD. All ways are
interleaved and timed in CPU seconds, which other programs on the machine disturb least; a speed-up's median is that
over repetitions, each beside the usual loop's in the same repetition. A model's
"GFLOP/s" counts the products of dense layers; the kernels skip products with known zeros and use fewer
for convolutions, so they may pass the peak, which is that of a matrix product in the same run.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from flockwise.models import Layout, build
from flockwise.training import Recipe, choose_trainer
from flockwise.training.generic import GenericTrainer


@dataclass(frozen=True)
class Workload:
    """A model, the samples of one client and how they are trained."""

    summary: str
    model: str
    shape: tuple[int, int, int]
    samples: int
    recipe: Recipe
    often: int = 1  # times as many repetitions, for what is short or close to its target


WORKLOADS = {
    "W1": Workload("papers' CNN, batch 10", "cnn", (1, 28, 28), 600, Recipe(1, 10, 0.01)),
    "W1b": Workload("papers' CNN, batch 50", "cnn", (1, 28, 28), 600, Recipe(1, 50, 0.01)),
    "W2": Workload("papers' CNN, batch 100", "cnn", (1, 28, 28), 600, Recipe(1, 100, 0.01)),
    "W3": Workload("softmax regression, batch 128", "softmax", (1, 28, 28), 3000, Recipe(10, 128, 0.01), 4),
    "W4": Workload("MobileNetV1, batch 32", "mobilenet", (3, 32, 32), 320, Recipe(1, 32, 0.01), 2),
    "W1m": Workload(
        "W1 with momentum and weight decay", "cnn", (1, 28, 28), 600, Recipe(1, 10, 0.01, 0.9, 1e-4)
    ),
    "W3m": Workload("W3 with them", "softmax", (1, 28, 28), 3000, Recipe(10, 128, 0.01, 0.9, 1e-4)),
    "W4m": Workload("W4 with them", "mobilenet", (3, 32, 32), 320, Recipe(1, 32, 0.01, 0.9, 1e-4)),
    "MLP": Workload("perceptron 200-200, batch 10", "mlp", (1, 28, 28), 600, Recipe(2, 10, 0.01), 4),
    "CIFAR": Workload("CIFAR CNN, batch 10", "cifar-cnn", (3, 32, 32), 300, Recipe(1, 10, 0.01)),
    "CIFAR-50": Workload("CIFAR CNN, batch 50", "cifar-cnn", (3, 32, 32), 300, Recipe(1, 50, 0.01)),
}


def usual_loop(module: nn.Module, images: torch.Tensor, classes: torch.Tensor, recipe: Recipe) -> None:
    """What every framework does for a client."""
    optimiser = torch.optim.SGD(
        module.parameters(), recipe.learning_rate, recipe.momentum, weight_decay=recipe.weight_decay
    )
    loader = DataLoader(TensorDataset(images, classes), batch_size=recipe.batch_size, shuffle=True)
    module.train()
    for _ in range(recipe.epochs):
        for x, y in loader:
            optimiser.zero_grad()
            functional.cross_entropy(module(x), y).backward()
            optimiser.step()


def dense_operations(module: nn.Module, shape: tuple[int, int, int], training: bool = True) -> int:
    """Floating point operations for one sample; backward, the first layer's input needs no gradient."""
    forward: list[int] = []

    def count(layer: nn.Module, inputs: tuple[torch.Tensor, ...], result: torch.Tensor) -> None:
        weights = layer.weight.numel() if isinstance(layer, nn.Conv2d | nn.Linear) else 0
        forward.append(2 * weights * (result[0, 0].numel() if result.dim() == 4 else 1))

    hooks = [m.register_forward_hook(count) for m in module if isinstance(m, nn.Conv2d | nn.Linear)]
    module.eval()(torch.zeros(1, *shape))
    for hook in hooks:
        hook.remove()
    return 3 * sum(forward) - forward[0] if training else sum(forward)


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak() -> float:
    """GFLOP/s of a matrix product of 768."""
    left, right = torch.rand(768, 768), torch.rand(768, 768)
    return 2 * 768**3 / min(cpu_seconds(lambda: left @ right) for _ in range(8)) / 1e9


def measure(workload: Workload, repetitions: int) -> dict[str, object]:
    """Samples a CPU second of each way, best and median, and what the trainers said about themselves."""
    random = np.random.default_rng(0)
    channels, height, width = workload.shape
    y = random.integers(0, 10, workload.samples)
    patterns = random.random((10, height, width, channels), dtype=np.float32)
    x = patterns[y] + random.normal(0, 0.3, (len(y), height, width, channels)).astype(np.float32)
    images, classes = torch.from_numpy(x).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(y)
    recipe = workload.recipe
    orders = np.stack([random.permutation(workload.samples) for _ in range(recipe.epochs)])
    module = build(workload.model, workload.shape, 10, seed=0)
    operations = dense_operations(module, workload.shape)
    forward_operations = dense_operations(module, workload.shape, training=False)
    vector = Layout.of(module).read(module)
    alone, _ = choose_trainer(module, workload.shape, recipe, prefer="generic")
    # What a module gets that the native path cannot train as a whole, because of some other layer.
    generic = GenericTrainer(module, workload.shape, compiled=True)
    native, why = choose_trainer(module, workload.shape, recipe)
    ways: dict[str, Callable[[], object]] = {
        "usual loop": lambda: usual_loop(module, images, classes, recipe),
        "torch alone": lambda: alone.train(vector, x, y, orders, recipe),
        "generic": lambda: generic.train(vector, x, y, orders, recipe),
    }
    if why.startswith("native"):
        ways["native"] = lambda: native.train(vector, x, y, orders, recipe)
        ways["evaluation"] = lambda: [native.losses(vector, x, y) for _ in range(recipe.epochs)]
    times: dict[str, list[float]] = {way: [] for way in ways}
    peaks = [peak()]
    for repetition in range(repetitions * workload.often + 1):
        for way, work in ways.items():
            seconds = cpu_seconds(work)
            if repetition:  # the first one warms up
                times[way].append(seconds)
        peaks.append(peak())
    done = workload.samples * recipe.epochs
    return {
        "summary": workload.summary,
        "native": why,
        "peak": max(peaks),
        "ways": {
            way: {
                "best": done / min(seconds),
                "median": done / statistics.median(seconds),
                "speedup_best": min(times["usual loop"]) / min(seconds),
                "speedup_median": statistics.median(
                    usual / own for usual, own in zip(times["usual loop"], seconds, strict=True)
                ),
                "peak_fraction": done
                / min(seconds)
                * (forward_operations if way == "evaluation" else operations)
                / 1e9
                / max(peaks),
            }
            for way, seconds in times.items()
        },
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two repetitions instead of seven")
    parser.add_argument(
        "--json", type=Path, help="also write the numbers to this file; with --only the others in it stay"
    )
    parser.add_argument("--only", help="comma-separated workloads, of " + ", ".join(WORKLOADS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = options.only.split(",") if options.only else list(WORKLOADS)
    results = {}
    print(f"{'':9} {'way':11} {'samples/s':>10} {'median':>10} {'speed-up':>9} {'median':>7} {'of peak':>8}")
    for name in names:
        results[name] = result = measure(WORKLOADS[name], repetitions=2 if options.quick else 7)
        print(f"{name:9} {result['summary']}; {result['native']}; peak {result['peak']:.0f} GFLOP/s")
        for way, row in result["ways"].items():
            print(
                f"{'':9} {way:11} {row['best']:10.0f} {row['median']:10.0f} {row['speedup_best']:8.2f}x"
                f" {row['speedup_median']:6.2f}x {row['peak_fraction']:8.2f}",
                flush=True,
            )
    if options.json:
        others = json.loads(options.json.read_text()) if options.only and options.json.exists() else {}
        options.json.write_text(json.dumps({**others, **results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
