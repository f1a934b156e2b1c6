"""The flocks of a million clients: how long it takes, how much memory, and how many of each group are found.

    python benchmarks/scale/million_flocks.py --clients 1000000 --json benchmarks/results/million_flocks.json

Updates are real (softmax regression on MNIST, see softmax_updates.py), made block after block and gone once sketched. What
is timed: sketching, and finding flocks as FLIC does. Making the updates is not: that is the clients' work.
"""

import argparse
import json
import os
import platform
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from softmax_updates import PARAMETERS, Crowd

import flockwise as fw
from flockwise.clustering import louvain
from flockwise.metrics import adjusted_rand
from flockwise.similarity import one_plus_cosine
from flockwise.stages import Clustered, Known
from flockwise.stages.sketching import automatic_width, sketcher_of
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import first_state

T = TypeVar("T")


class Times:
    """Seconds by the clock and of the processors, by what they were spent on."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    def of(self, name: str, work: Callable[[], T]) -> T:
        """What the work gives, its time added."""
        wall, cpu = time.perf_counter(), time.process_time()
        done = work()
        self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu
        return done


def measured(crowd: Crowd, width: int | None) -> dict[str, Any]:
    """Flocks of the crowd, once."""
    times = Times()
    setting = Setting(seed=crowd.seed, sketch=width or automatic_width(crowd.clients, PARAMETERS))
    sketcher = sketcher_of(setting, crowd.clients, PARAMETERS)
    assert sketcher is not None, "so few clients are compared exactly; give --width"
    sketches = np.zeros((crowd.clients, sketcher.width), dtype=np.float32)
    blocks = crowd.blocks(times.of("joint model (not counted)", crowd.joint_model))
    while (made := times.of("updates (not counted)", lambda: next(blocks, None))) is not None:
        sketches[made[0]] = times.of("sketches", lambda: sketcher(made[1]))
    known = Known(np.arange(crowd.clients), sketches.copy, sketched=True, pick=lambda some: sketches[some])
    communities = Clustered(
        one_plus_cosine,
        lambda graph, seed: louvain(graph, 1.0, seed),
        takes="similarity",
        min_separation=1.0,
        refine=3.0,
    )
    round = Round(first_state(np.zeros((1, 1)), crowd.clients), setting)
    found = times.of("flocks", lambda: communities.find(known, round))
    counted = [name for name in times.wall if "not counted" not in name]
    return {
        "clients": crowd.clients, "parameters": PARAMETERS, "width": sketcher.width, "samples": crowd.samples,
        "groups": crowd.swaps * crowd.turns, "flocks": found.flocks, "separation": found.facts["separation"],
        "ari": adjusted_rand(found.labels, crowd.groups), "recovery": recovery(found.labels, crowd.groups),
        "wall": times.wall, "cpu": times.cpu, "seconds": sum(times.wall[name] for name in counted),
        "cpu_seconds": sum(times.cpu[name] for name in counted),
        "rss_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }  # fmt: skip


def recovery(labels: np.ndarray, groups: np.ndarray) -> list[float]:
    """For each group the best overlap with a flock (Jaccard): an index over all clients hides small groups that are lost."""
    table = np.zeros((int(groups.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (groups, labels), 1)
    union = table.sum(axis=1, keepdims=True) + table.sum(axis=0) - table
    return [round(float(best), 4) for best in (table / union).max(axis=1)]


def main() -> None:
    """Measure, say it, and keep it in a new file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--width", type=int, default=None, help="of the sketches; default: what auto takes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=None)
    given = parser.parse_args()
    found = measured(Crowd(given.clients, given.samples, seed=given.seed), given.width)
    found["machine"] = {
        "cores": os.cpu_count(), "load": os.getloadavg()[0], "processor": platform.processor(), "flockwise": fw.__version__,
    }  # fmt: skip
    print(json.dumps(found, indent=1))
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
