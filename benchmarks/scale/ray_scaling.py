"""One node of a Ray cluster against two: how much faster rounds are, beside what the same cores give the local engine.

    python benchmarks/scale/ray_scaling.py --data DIR [--only WORKLOAD] [--json FILE]

Nodes have one core each, by a `ray start` of their own, in network namespaces of their own if this user may make them: this
machine has two cores, so it ends at two nodes. Workload A of benchmarks/performance/engine.py (the papers' CNN, 10 clients a
round) with one and with five local epochs. Clusters of one and of two nodes, and the local engine with one and with two
workers, come one after the other, all four in every repetition, every other time in reverse.

Fixed before looking. Gain: seconds a round with one over those with two, medians of a repetition's rounds; the median over
repetitions. The bar: two nodes gain at least 0.9 of what two workers of the local engine gain in the same repetitions. Told
besides: what the model of docs/cluster.md says of the round of two nodes, from that of one.
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

from nodes import Nodes, can_have_namespaces  # noqa: E402
from ray_cluster import ready  # noqa: E402
from turns import Way  # noqa: E402

from engine import PAPERS, A  # noqa: E402

WORKLOADS = {"one epoch": A, "five epochs": PAPERS}
BAR = 0.9  # of the local engine's gain
REPETITIONS, ROUNDS, WARM = 3, 5, 1
WAYS = (("ray", 1), ("ray", 2), ("local", 1), ("local", 2))


def rounds_of(content: dict[str, Any], engine: dict[str, Any], data: Path) -> list[float]:
    """Seconds of each round, in a process of its own."""
    config = json.dumps({**content, "engine": {**engine, "path": "native"}})
    way = Way([sys.executable, str(PERFORMANCE / "ways.py"), "ours", config, str(data)])
    try:
        way.warm(WARM)
        way.take(ROUNDS)
        turns: list[list[float]] = way.stop()["turns"]
        return turns[0]
    finally:
        way.kill()


def on_nodes(content: dict[str, Any], count: int, namespaces: bool, data: Path) -> list[float]:
    """The same on a cluster of so many nodes of one core."""
    nodes = Nodes(namespaces)
    try:
        for number in range(1, count + 1):  # one by one: two that begin at once may take the same socket
            nodes.add(number)
            ready(nodes.address, number + 1)
        return rounds_of(content, {"name": "ray", "address": nodes.address}, data)
    finally:
        nodes.close()


def measured(content: dict[str, Any], namespaces: bool, data: Path) -> dict[str, Any]:
    """All repetitions of a workload, and the reading."""
    seconds: dict[str, list[list[float]]] = {f"{kind} {count}": [] for kind, count in WAYS}
    loads = []
    for repetition in range(REPETITIONS):
        for kind, count in WAYS if repetition % 2 == 0 else reversed(WAYS):
            if kind == "ray":
                found = on_nodes(content, count, namespaces, data)
            else:
                found = rounds_of(content, {"workers": count}, data)
            seconds[f"{kind} {count}"].append(found)
            loads.append(round(os.getloadavg()[0], 1))
            print(kind, count, [round(one, 3) for one in found], loads[-1], flush=True)
    middle = {way: [statistics.median(each) for each in found] for way, found in seconds.items()}
    gains = {
        kind: [one / two for one, two in zip(middle[f"{kind} 1"], middle[f"{kind} 2"], strict=True)]
        for kind in ("ray", "local")
    }
    gain = {kind: statistics.median(found) for kind, found in gains.items()}
    return {
        "seconds": seconds, "median": {way: statistics.median(found) for way, found in middle.items()},
        "gains": gains, "gain": gain, "share": gain["ray"] / gain["local"], "within": gain["ray"] >= BAR * gain["local"],
        "loads": loads,
    }  # fmt: skip


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("FLOCKWISE_DATA"), help="where MNIST lies"
    )
    parser.add_argument("--only", choices=WORKLOADS, help="one of the workloads")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.data is None:
        parser.error("--data (or FLOCKWISE_DATA): where MNIST lies")
    namespaces = can_have_namespaces()
    about: dict[str, Any] = {
        "command": "python benchmarks/scale/ray_scaling.py --data DIR", "date": time.strftime("%Y-%m-%d"),
        "cores": os.cpu_count(), "machine": platform.machine(), "network_namespaces": namespaces, "bar": BAR,
        "versions": {name: version(name) for name in ("torch", "numpy", "ray")},
        "repetitions": REPETITIONS, "rounds": ROUNDS, "workloads": {},
    }  # fmt: skip
    for name, content in WORKLOADS.items():
        if options.only not in (None, name):
            continue
        about["workloads"][name] = measured(content, namespaces, options.data)
        print(name, json.dumps({key: about["workloads"][name][key] for key in ("median", "gain", "share")}))
        if options.json:
            options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
