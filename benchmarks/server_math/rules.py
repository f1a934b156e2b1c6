"""CPU time of the aggregation rules against Flower, ByzFL, SciPy and the time to read the updates once.

    python benchmarks/server_math/rules.py [--quick] [--runs N] [--byzfl PATH] [--json FILE] [--markdown FILE]

Peers are optional: Flower is used if installed; ByzFL from PATH, made with
`pip install --no-deps --target PATH byzfl==0.0.11` (a plain install would replace torch). One thread, process
CPU time, best of N runs (5 N of what is quick) for everyone, taken in turn in one process: compare the ratios,
not the milliseconds.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import shlex
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import page
import peers
from threadpoolctl import threadpool_limits

from flockwise.kernels import native, set_threads
from flockwise.kernels.native import loading

FULL = ((20, 1_660_000), (100, 1_660_000), (1000, 166_000))
QUICK = ((20, 200_000), (100, 50_000))


def in_numpy(run: peers.Run) -> peers.Run:
    """The same without the compiled kernels."""

    def plain() -> Any:
        smallest, loading.SMALLEST = loading.SMALLEST, 1 << 62
        try:
            return run()
        finally:
            loading.SMALLEST = smallest

    return plain


def timed(runs: dict[str, list[peers.Run]], turns: int) -> tuple[dict[str, float], dict[str, Any], int]:
    """Least CPU milliseconds of each name, a result of each, and how many turns they all had.

    What takes less than half a second for all together gets five times as many turns.
    """
    best: dict[str, float] = {}
    results: dict[str, Any] = {}
    turn = 0
    while turn < turns:
        begin = time.process_time()
        for name, candidates in runs.items():
            for candidate in candidates:
                start = time.process_time()
                results[name] = candidate()
                taken = 1000 * (time.process_time() - start)
                best[name] = min(best.get(name, taken), taken)
        turn += 1
        if turn == 1 and time.process_time() - begin < 0.5:
            turns *= 5
    return best, results, turns


def flat(result: Any) -> np.ndarray:
    """A peer's result as one vector."""
    return np.asarray(result[0] if isinstance(result, list) else result, dtype=np.float64).ravel()


def measure(clients: int, size: int, flwr: Any, byz: Any, turns: int) -> list[dict[str, Any]]:
    """All operations at one size."""
    updates = np.random.default_rng(0).standard_normal((clients, size), dtype=np.float32)
    f = (clients - 3) // 4 if clients < 25 else clients // 5
    flowers, byzantines = peers.flower_runs(flwr, updates, f), peers.byzfl_runs(byz, updates, f)
    scipys = peers.scipy_runs(updates)
    lines = []
    for name, run in peers.our_runs(updates, f).items():
        runs = {"numpy": [in_numpy(run)]} | ({"native": [run]} if native.status() == "C++" else {})
        for peer, those in (("flwr", flowers), ("scipy", scipys)):
            runs |= {peer: [those[name]]} if name in those else {}
        runs |= {"byzfl": byzantines[name]} if name in byzantines else {}
        best, results, taken = timed(runs | {"limit": peers.reading_runs(updates)}, turns)
        line: dict[str, Any] = {"operation": name, "clients": clients, "parameters": size, "runs": taken}
        for column in ("native", "numpy", "flwr", "byzfl", "scipy", "limit"):
            line[column] = best.get(column)
        for other in set(results) & {"native", "flwr", "scipy"}:
            gap = np.abs(flat(results[other]) - flat(results["numpy"])).max()
            line[f"numpy_to_{other}"] = float(gap)
        lines.append(line)
        print(page.text(page.cells(line)), flush=True)
    return lines


def machine(byz: Any) -> dict[str, str]:
    """What the numbers were measured on."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    try:
        flower = importlib.metadata.version("flwr")
    except importlib.metadata.PackageNotFoundError:
        flower = "not found"
    return {
        "cpu": model,
        "cores": str(os.cpu_count()),
        "load": load(),
        "numpy": np.__version__,
        "flwr": flower,
        "byzfl": "0.0.11" if byz else "not found",
        "kernels": native.status(),
    }


def load() -> str:
    """The load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small updates, under a minute")
    parser.add_argument("--runs", type=int, default=3, help="runs of each operation, ours and the peers'")
    parser.add_argument("--byzfl", default=os.environ.get("BYZFL_PATH"), help="where byzfl was installed")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--markdown", type=Path, help="write the table into this page")
    options = parser.parse_args()
    set_threads(1)
    flwr, byz = peers.flower(), peers.byzfl(options.byzfl)
    report: dict[str, Any] = {
        "command": shlex.join(["python", "benchmarks/server_math/rules.py", *sys.argv[1:]]),
        "date": datetime.date.today().isoformat(),
        "runs": options.runs,
        "machine": machine(byz),
        "lines": [],
    }
    print(page.text(page.HEADER))
    if options.quick:
        loading.SMALLEST = 1 << 20
    for clients, size in QUICK if options.quick else FULL:
        with threadpool_limits(1):
            report["lines"] += measure(clients, size, flwr, byz, options.runs)
        report["machine"]["load_at_end"] = load()
        if options.json:
            options.json.write_text(json.dumps(report, indent=1) + "\n")
        if options.markdown:
            page.write(options.markdown, report)


if __name__ == "__main__":
    main()
