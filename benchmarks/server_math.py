"""CPU time of the aggregation rules against Flower, ByzFL and the time to read the updates once.

    python benchmarks/server_math.py [--quick] [--byzfl PATH] [--json FILE] [--markdown FILE]

Peers are optional: Flower is used if installed; ByzFL from PATH, made with
`pip install --no-deps --target PATH byzfl==0.0.11` (a plain install would replace torch). One thread, process
CPU time, best of a few runs, all in one process: compare the ratios, not the milliseconds.
"""

import argparse
import datetime
import importlib
import json
import os
import platform
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from flockwise import aggregation
from flockwise.kernels import set_threads
from flockwise.similarity import cosine, l1, l2

Run = Callable[[], Any]
FULL = ((20, 1_660_000), (100, 1_660_000), (1000, 166_000))
QUICK = ((20, 200_000), (100, 50_000))


def timed(run: Run, budget: float = 3.0, most: int = 5) -> tuple[float, Any]:
    """Least CPU milliseconds of a few runs, and the result."""
    best, spent, result = float("inf"), 0.0, None
    for _ in range(most):
        start = time.process_time()
        result = run()
        taken = time.process_time() - start
        best, spent = min(best, taken), spent + taken
        if spent + taken > budget:
            break
    return 1000 * best, result


def flower() -> Any:
    """Flower's aggregation functions, or None."""
    try:
        return importlib.import_module("flwr.server.strategy.aggregate")
    except ImportError:
        return None


def byzfl(path: str | None) -> Any:
    """ByzFL's aggregators without the parts that need torchvision, or None."""
    if path is None or not Path(path, "byzfl").is_dir():
        return None
    package = types.ModuleType("byzfl")
    package.__path__ = [str(Path(path, "byzfl"))]
    sys.modules["byzfl"] = package
    try:
        import torch

        torch.set_num_threads(1)
        return importlib.import_module("byzfl.aggregators.aggregators")
    except ImportError:
        return None


def our_runs(updates: np.ndarray, f: int) -> dict[str, Run]:
    """Each operation by name."""
    root = updates[0]
    return {
        "mean": lambda: aggregation.mean(updates),
        "median": lambda: aggregation.median(updates),
        "trimmed mean 20 %": lambda: aggregation.trimmed_mean(updates, 0.2),
        "krum": lambda: aggregation.krum(updates, f),
        "multi-krum": lambda: aggregation.multi_krum(updates, f),
        "bulyan": lambda: aggregation.bulyan(updates, f),
        "geometric median": lambda: aggregation.geometric_median(updates),
        "centered clipping": lambda: aggregation.centered_clipping(updates, 100.0, steps=3),
        "fltrust": lambda: aggregation.fltrust(updates, root),
        "cosine": lambda: cosine(updates),
        "l2": lambda: l2(updates),
    }


def flower_runs(flwr: Any, updates: np.ndarray, f: int) -> dict[str, Run]:
    """What Flower has; its pairwise distances only where they end within minutes."""
    results = [([row], 1) for row in updates]
    runs: dict[str, Run] = {
        "mean": lambda: flwr.aggregate(results),
        "median": lambda: flwr.aggregate_median(results),
        "trimmed mean 20 %": lambda: flwr.aggregate_trimmed_avg(results, 0.2),
    }
    if len(updates) <= 100:
        runs["krum"] = lambda: flwr.aggregate_krum(results, f, 0)
    if len(updates) <= 20:
        runs["multi-krum"] = lambda: flwr.aggregate_krum(results, f, len(updates) - f)
        runs["bulyan"] = lambda: flwr.aggregate_bulyan(list(results), f, flwr.aggregate_krum, to_keep=0)
    return runs


def byzfl_runs(byz: Any, updates: np.ndarray, f: int) -> dict[str, list[Run]]:
    """What ByzFL has, on NumPy and on torch; its NumPy distances of many clients take minutes."""
    import torch

    tensor = torch.from_numpy(updates)
    both = {
        "mean": lambda: byz.Average(),
        "krum": lambda: byz.Krum(f=f),
        "multi-krum": lambda: byz.MultiKrum(f=f),
        "geometric median": lambda: byz.GeometricMedian(nu=0.1, T=3),
        "centered clipping": lambda: byz.CenteredClipping(L=3, tau=100.0),
    }
    runs: dict[str, list[Run]] = {
        # On torch these two take five times as long as on NumPy.
        "median": [lambda: byz.Median()(updates)],
        "trimmed mean 20 %": [lambda: byz.TrMean(f=len(updates) // 5)(updates)],
    }
    for name, make in both.items():
        runs[name] = [lambda make=make: make()(tensor)]
        if "krum" not in name or len(updates) < 100:
            runs[name].append(lambda make=make: make()(updates))
    return runs


def read_limit(updates: np.ndarray) -> float:
    """The fastest of a few ways to read all updates once, in CPU milliseconds."""
    weights = np.ones(len(updates), np.float32)
    column = np.ones(updates.shape[1], np.float32)
    flat = updates.ravel()
    return min(
        timed(run)[0] for run in (lambda: weights @ updates, lambda: updates @ column, lambda: flat @ flat)
    )


def flat(result: Any) -> np.ndarray:
    """A peer's result as one vector."""
    return np.asarray(result[0] if isinstance(result, list) else result, dtype=np.float32).ravel()


def measure(clients: int, size: int, flwr: Any, byz: Any) -> list[dict[str, Any]]:
    """All operations at one size."""
    updates = np.random.default_rng(0).standard_normal((clients, size), dtype=np.float32)
    f = (clients - 3) // 4 if clients < 25 else clients // 5
    theirs = flower_runs(flwr, updates, f) if flwr else {}
    others = byzfl_runs(byz, updates, f) if byz else {}
    limit = read_limit(updates)
    lines = []
    for name, run in our_runs(updates, f).items():
        ours, result = timed(run)
        line: dict[str, Any] = {"operation": name, "clients": clients, "parameters": size}
        line |= {"ours": ours, "limit": limit, "flwr": None, "byzfl": None, "difference": None}
        if name in theirs:
            line["flwr"], expected = timed(theirs[name])
            line["difference"] = float(np.abs(flat(expected) - result).max())
        if name in others:
            line["byzfl"] = min(timed(other)[0] for other in others[name])
        lines.append(line)
        print(text(line), flush=True)
    return lines


def measure_l1(clients: int, size: int) -> dict[str, Any]:
    """L1 distances against SciPy, which Flower and ByzFL do not have."""
    from scipy.spatial.distance import pdist, squareform

    updates = np.random.default_rng(0).standard_normal((clients, size), dtype=np.float32)
    ours, result = timed(lambda: l1(updates))
    scipy, expected = timed(lambda: pdist(updates, "cityblock"))
    line = {"operation": "l1", "clients": clients, "parameters": size, "ours": ours, "scipy": scipy}
    line |= {"limit": read_limit(updates), "flwr": None, "byzfl": None}
    line["difference"] = float(np.abs(squareform(expected) - result).max())
    print(text(line), f"scipy {scipy:.0f} ms, {scipy / ours:.1f}x", flush=True)
    return line


def times(line: dict[str, Any], peer: str) -> str:
    """How many times as long a peer takes."""
    return f"{line[peer] / line['ours']:.1f}x" if line.get(peer) else "-"


def cells(line: dict[str, Any]) -> list[str]:
    """One line of the table."""
    peers = [f"{line[peer]:.0f}" if line.get(peer) else "-" for peer in ("flwr", "byzfl")]
    limit = [f"{line['limit']:.1f}", f"{line['ours'] / line['limit']:.1f}x"]
    shape = f"{line['clients']} x {line['parameters']:,}"
    return [
        line["operation"],
        shape,
        f"{line['ours']:.1f}",
        *peers,
        times(line, "flwr"),
        times(line, "byzfl"),
        *limit,
    ]


def text(line: dict[str, Any]) -> str:
    """One line for the terminal."""
    return "  ".join(cell.rjust(width) for cell, width in zip(cells(line), (18, 16, *[9] * 7), strict=True))


HEADER = (
    "operation",
    "updates",
    "ours ms",
    "flwr ms",
    "byzfl ms",
    "vs flwr",
    "vs byzfl",
    "read ms",
    "of read",
)


def machine() -> dict[str, str]:
    """What the numbers were measured on."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    busy = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return {"cpu": model, "cores": str(os.cpu_count()), "load": busy, "numpy": np.__version__}


def markdown(report: dict[str, Any]) -> str:
    """The page for the documentation."""
    where = report["machine"]
    rows = ["| " + " | ".join(cells(line)) + " |" for line in report["lines"]]
    against = [
        f"L1 at {line['clients']} x {line['parameters']:,}: ours {line['ours']:.0f} ms, SciPy's pdist "
        f"{line['scipy']:.0f} ms, {times(line, 'scipy')}."
        for line in report["lines"]
        if "scipy" in line
    ]
    return "\n".join([
        "# Server math: measured", "",
        f"`{report['command']}`, {report['date']}, {where['cpu']}, {where['cores']} cores, NumPy {where['numpy']}, "
        f"load average at the start {where['load']}.", "",
        "CPU milliseconds of one thread. `vs` is how many times as long the peer takes; `of read` is our time over "
        "the time to read the updates once. `-`: the peer has no such rule, or would take minutes. Our geometric "
        "median runs until it settles, ByzFL's takes three steps; ByzFL is the better of NumPy and torch, "
        "but NumPy alone for median and trimmed mean and torch alone for Krum from 100 clients. Each time is the "
        "least of up to five runs within three seconds, so slow peers ran once: on a loaded machine that flatters us.", "",
        "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER), *rows, "", *against, "",
    ])  # fmt: skip


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small updates, under a minute")
    parser.add_argument("--byzfl", default=os.environ.get("BYZFL_PATH"), help="where byzfl was installed")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--markdown", type=Path, help="write a page with the table here")
    options = parser.parse_args()
    set_threads(1)
    flwr, byz = flower(), byzfl(options.byzfl)
    for name, found in (("flwr", flwr), ("byzfl", byz)):
        if found is None:
            print(f"{name} not found: left out")
    report: dict[str, Any] = {
        "command": "python benchmarks/server_math.py" + (" --quick" if options.quick else ""),
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "lines": [],
    }
    print("  ".join(cell.rjust(width) for cell, width in zip(HEADER, (18, 16, *[9] * 7), strict=True)))
    with threadpool_limits(1):
        for clients, size in QUICK if options.quick else FULL:
            report["lines"] += measure(clients, size, flwr, byz)
        report["lines"].append(measure_l1(100, 20_000 if options.quick else 166_000))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(report))


if __name__ == "__main__":
    main()
