"""What a core of this machine can do at most, and what the parts of training take beside it.

    python benchmarks/performance/bounds.py [--quick] [--json FILE]

The readings, fixed before: of bare loops (multiplications with addition, roots with quotients, passes over memory) the best
over turns, because they stand for what is possible; of the kernels' linear layer the median over turns. All take turns
in one process, in CPU seconds; once on one core and once on both at the same time. The layer is the large one of the
papers' CNN, 3136 inputs and 512 outputs with a batch of 10, half of whose gradients the rectifier has stopped; also so
few of its outputs, over and over, that all of it stays in a core's own cache: what the layer would take if memory cost
nothing.
"""

import argparse
import ctypes
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from optimisers import SHAPE, recipes, samples
from torch import nn
from where import MODELS

from flockwise.models import Layout, build
from flockwise.native import compiler
from flockwise.training.native import NativeTrainer
from flockwise.training.native.loading import FLAGS

SOURCE = Path(__file__).with_name("bounds.cpp")
KERNELS = Path(__file__).parents[2] / "src" / "flockwise" / "training" / "native"
INPUTS, OUTPUTS, BATCH, LIVE = 3136, 512, 10, 0.5
FEW = 16  # outputs whose weights, and twice as many numbers that Adam remembers, a core's own cache holds
OPTIMISERS = {"sgd": 1, "momentum": 2, "adam": 3}  # arrays as large as the weights that a step goes through
SETS = (0.5, 64)  # millions of bytes that a core's own cache holds, and that no cache holds


def library() -> ctypes.CDLL:
    """The loops, compiled as the kernels are."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "bounds.so"
        flags = (*compiler.FLAGS, *FLAGS, *compiler._machine_flags())
        found = compiler.find_compiler()
        if found is None:
            raise SystemExit("bounds.py: no C++ compiler; set CXX")
        subprocess.run([found, *flags, f"-I{KERNELS}", str(SOURCE), "-o", str(made)], check=True)
        loops = ctypes.CDLL(str(made))
    for name in ("multiply", "root", "pass", "linear"):
        getattr(loops, f"bounds_{name}").restype = ctypes.c_double
    loops.bounds_take.restype = ctypes.c_void_p
    for name in ("lanes", "linear_floats"):
        getattr(loops, f"bounds_{name}").restype = ctypes.c_int64
    return loops


def numbers(*values: int) -> list[ctypes.c_int64]:
    """As C wants them."""
    return [ctypes.c_int64(value) for value in values]


class Memory:
    """Arrays as large as the layer's weights, one behind the other."""

    def __init__(self, loops: ctypes.CDLL, large: bool) -> None:
        self.each = int(loops.bounds_linear_floats(*numbers(INPUTS, OUTPUTS)))
        self._floats = max(3 * self.each, int(max(SETS) * 1e6) // 4)
        self._start = int(loops.bounds_take(*numbers(self._floats, large)))

    def at(self, array: int) -> ctypes.c_void_p:
        """One of the arrays."""
        return ctypes.c_void_p(self._start + 4 * self.each * array)


def works(loops: ctypes.CDLL, memory: Memory, quick: bool) -> dict[str, Callable[[], float]]:
    """Everything that is timed, by name: seconds of one."""
    times, passes, layers = (2_000, 2, 2) if quick else (200_000, 20, 20)
    lanes, random = int(loops.bounds_lanes()), np.random.default_rng(0)
    masks = {outputs: (random.random((BATCH, outputs)) < LIVE).astype(np.uint8) for outputs in (OUTPUTS, FEW)}
    found: dict[str, Callable[[], float]] = {
        "multiplication": lambda: loops.bounds_multiply(*numbers(times)) / (16 * lanes * times),
        "root and quotient": lambda: loops.bounds_root(*numbers(times)) / (8 * lanes * times),
    }

    def over(floats: int, write: bool) -> Callable[[], float]:
        often = max(1, passes * memory.each // floats)
        return lambda: loops.bounds_pass(memory.at(0), *numbers(floats, write, often)) / often

    def layer(name: str, backward: bool, outputs: int) -> Callable[[], float]:
        kind, arrays = int(name == "adam"), [memory.at(i) if i < OPTIMISERS[name] else None for i in range(3)]
        often = layers * OUTPUTS // outputs
        shape, how = numbers(INPUTS, outputs, BATCH), numbers(kind, backward, often)
        live = ctypes.c_void_p(masks[outputs].ctypes.data)
        return lambda: loops.bounds_linear(*shape, live, *arrays, *how) / layers

    for size in SETS:
        for write in (False, True):
            found[f"{'add to' if write else 'read'} {size:g} MB"] = over(int(size * 1e6) // 4, write)
    found["read the weights"] = over(memory.each, False)
    for name, arrays in OPTIMISERS.items():
        found[f"add to what {name} moves"] = over(arrays * memory.each, True)
    for outputs, where in ((OUTPUTS, ""), (FEW, ", from the core's own cache")):
        found[f"layer forward{where}"] = layer("sgd", False, outputs)
        for name in OPTIMISERS:
            found[f"layer backward, {name}{where}"] = layer(name, True, outputs)
    return found


def value_bytes(model: str) -> int:
    """What the convolutions of a model give for one batch, which goes through memory whatever is done with it."""
    shape, _, batch, _ = MODELS[model]
    module, found = build(model, shape, 10, seed=0), [0]

    def count(_: nn.Module, __: object, result: torch.Tensor) -> None:
        found[0] += 4 * result.numel()

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(count)
    module.eval()(torch.zeros(batch, *shape))
    return found[0]


def idle_outputs() -> dict[str, float]:
    """Outputs of the layer to which no sample of a batch sends a gradient, as a share, after an epoch of each optimiser.

    Plain SGD passes over their weights; what has a momentum moves them all the same.
    """
    x, y, orders = samples(1)
    module, found = build("cnn", SHAPE, 10, seed=0), {}
    layout, trainer = Layout.of(module), NativeTrainer(module, SHAPE)
    start = layout.read(module)
    images = torch.from_numpy(x[orders[0]]).permute(0, 3, 1, 2)
    for name, recipe in recipes(1).items():
        layout.write(module, trainer.train(start, x, y, orders, recipe)[0])
        with torch.no_grad():
            live = module[:-1](images).reshape(-1, BATCH, OUTPUTS) > 0
        found[name] = float((~live.any(1)).float().mean())
    return found


def measured(ways: list[dict[str, Callable[[], float]]], turns: int) -> dict[str, dict[str, float]]:
    """The same work on as many cores as there are ways, in turns: best and median seconds of one."""
    seconds: dict[str, list[float]] = {name: [] for name in ways[0]}
    with ThreadPoolExecutor(len(ways)) as pool:
        for turn in range(turns + 1):
            for name in seconds if turn % 2 else reversed(seconds):
                took = list(pool.map(lambda way, name=name: way[name](), ways))  # type: ignore[misc]
                if turn:  # the first one warms up
                    seconds[name] += took
    return {name: {"best": min(each), "median": median(each)} for name, each in seconds.items()}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few turns")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    loops, load = library(), os.getloadavg()[0]
    found: dict[str, Any] = {}
    for pages in ("small", "large"):
        ways = [works(loops, Memory(loops, pages == "large"), options.quick) for _ in range(2)]
        for cores in (1, 2):
            found[f"{cores} cores, {pages} pages"] = measured(ways[:cores], 2 if options.quick else 15)
    about = {
        "command": "python benchmarks/performance/bounds.py" + (" --quick" if options.quick else ""),
        "date": time.strftime("%Y-%m-%d"),
        "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        "layer": {"inputs": INPUTS, "outputs": OUTPUTS, "batch": BATCH, "live": LIVE},
        "weight_bytes": 4 * Memory(loops, False).each,
        "value_bytes": value_bytes("mobilenet"),
        "idle_outputs": idle_outputs(),
        "results": found,
    }
    for how, rows in found.items():
        for name, row in rows.items():
            print(f"{how:22} {name:28} best {row['best'] * 1e6:12.5f} us, median {row['median'] * 1e6:12.5f}")
    if options.json:
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
