"""Rules on a round that lies on disk, beside the same rules on the same round in memory: peak memory, time, and the result.

    python benchmarks/scale/streaming.py --json benchmarks/results/streaming.json

The updates are 10,000 x 61,706 numbers (LeNet), 2.5 GB: a common direction of each of 20 groups and noise, one in ten ten
times as long. Each cell is a process of its own, so that its peak is its own: the most memory that was resident (VmHWM) from
when the rule was called on, above what was resident then. In memory, what the updates take is counted with it.

The bar, set before: on disk at most 512 MB, and results that are the same to the bits, or to 1e-6 of the largest number.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.aggregation import (
    bucketing,
    centered_clipping,
    fltrust,
    geometric_median,
    krum,
    meamed,
    mean,
    median,
    multi_krum,
    norm_bound,
    trimmed_mean,
)
from flockwise.engine.scratch import Scratch
from flockwise.kernels.parallel import blocks
from flockwise.rng import generator

CLIENTS, PARAMETERS, GROUPS = 10_000, 61_706, 20
RADIUS = 0.5
Rule = Callable[[Any, np.ndarray], np.ndarray]
RULES: dict[str, Rule] = {
    "mean": lambda rows, root: mean(rows, weights=1.0 + np.arange(len(rows)) % 7),
    "norm bound": lambda rows, root: norm_bound(rows, radius=RADIUS),
    "FLTrust": lambda rows, root: fltrust(rows, root=root),
    "centred clipping, 3 steps": lambda rows, root: centered_clipping(rows, radius=RADIUS),
    "geometric median": lambda rows, root: geometric_median(rows),
    "median": lambda rows, root: median(rows),
    "trimmed mean": lambda rows, root: trimmed_mean(rows, trim=0.2),
    "Meamed": lambda rows, root: meamed(rows, f=len(rows) // 5),
    "Krum of buckets of 20": lambda rows, root: krum(bucketing(rows, s=20), f=len(rows) // 100),
    "Multi-Krum of buckets of 20": lambda rows, root: multi_krum(bucketing(rows, s=20), f=len(rows) // 100),
}


def written(clients: int, parameters: int) -> tuple[Scratch, np.ndarray]:
    """The round on disk, and an update of the server's own."""
    made, rng = Scratch(clients, parameters), generator(0, "streaming")
    middles = 1e-3 * rng.standard_normal((GROUPS, parameters), dtype=np.float32)
    for piece in blocks(clients, 500):
        places = np.arange(piece.start, piece.stop)
        rows = 2e-3 * rng.standard_normal((len(places), parameters), dtype=np.float32)
        rows += middles[places % GROUPS]
        rows[places % 10 == 0] *= 10
        made.write(places.tolist(), rows)
    return made, middles.mean(axis=0)


def resident(name: str) -> int:
    """Bytes, as the system counts them: VmRSS now, or VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def measured(rule: Rule, made: Scratch, root: np.ndarray, on_disk: bool, result: str) -> dict[str, float]:
    """One cell, in this process."""
    before = resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is counted from here
    rows = made.rows if on_disk else np.asarray(made.rows)
    cpu = time.process_time()
    found = rule(rows, root)
    cpu = time.process_time() - cpu
    np.save(result, found)
    return {"bytes": resident("VmHWM") - before, "cpu": cpu}


def apart(work: Callable[..., dict[str, float]], *given: Any) -> dict[str, float]:
    """The same in a process of its own."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=lambda: there.send(work(*given)))
    child.start()
    there.close()
    found = here.recv()
    child.join()
    return dict(found)


def main() -> None:
    """Measure what the file does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--parameters", type=int, default=PARAMETERS)
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    done = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
    made, root = written(given.clients, given.parameters)
    folder = tempfile.TemporaryDirectory()
    results = {side: f"{folder.name}/{side}.npy" for side in ("disk", "memory")}
    for name, rule in RULES.items():
        if name in done:
            continue
        cell: dict[str, Any] = {"clients": given.clients, "parameters": given.parameters}
        for side, result in results.items():
            cell[side] = apart(measured, rule, made, root, side == "disk", result)
        disk, memory = (np.load(result) for result in results.values())
        cell["same_bits"] = disk.tobytes() == memory.tobytes()
        cell["difference"] = float(np.abs(disk - memory).max() / np.abs(memory).max())
        cell["load"] = os.getloadavg()[0]
        done[name] = cell
        print(name, cell, flush=True)
        given.json.write_text(json.dumps(done, indent=1) + "\n", encoding="utf-8")
    folder.cleanup()


if __name__ == "__main__":
    main()
