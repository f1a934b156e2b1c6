"""Louvain and Leiden on a dense graph of 1000 clients against networkx, in one run, with the modularity of each.

    python benchmarks/server_math/louvain.py [--clients 1000] [--json FILE]

The graph is 1 + cosine of updates: clear groups, weak groups, and none. CPU seconds of one thread; ours is the best
of three calls, networkx's one call.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import networkx
import numpy as np

from flockwise.clustering import leiden, louvain, modularity
from flockwise.similarity import cosine

GRAPHS = (  # name, strength of the groups, searches (None: as many as we usually do)
    ("clear groups", 0.5, None),
    ("weak groups", 0.1, None),
    ("no groups", 0.0, None),
    ("no groups, one search", 0.0, 1),
)


def graph(clients: int, strength: float) -> np.ndarray:
    """1 + cosine of updates in ten groups whose cosine is about strength."""
    rng = np.random.default_rng(0)
    truth = np.arange(clients) % 10
    rows = (
        rng.normal(size=(clients, 200))
        + np.sqrt(strength / max(1 - strength, 1e-9)) * rng.normal(size=(10, 200))[truth]
    )
    square = 1 + cosine(rows.astype(np.float32))
    np.fill_diagonal(square, 0.0)
    return square


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of one call, and its result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    print("| graph | networkx s | modularity | louvain s | modularity | x | leiden s | modularity | x |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, strength, searches in GRAPHS:
        square = graph(options.clients, strength)
        built = networkx.from_numpy_array(square)  # building its graph is not counted
        theirs, found = timed(lambda built=built: networkx.community.louvain_communities(built, seed=0))
        labels = np.zeros(len(square), dtype=np.int64)
        for number, members in enumerate(found):
            labels[list(members)] = number
        row: dict[str, Any] = {
            "graph": name,
            "networkx": theirs,
            "networkx_modularity": modularity(square, labels, 1.0),
        }
        for method in (louvain, leiden):
            runs = [
                timed(lambda square=square, method=method, most=searches: method(square, starts=most))
                for _ in range(3)
            ]
            seconds = min(run[0] for run in runs)
            row[method.__name__] = seconds
            row[f"{method.__name__}_modularity"] = modularity(square, runs[0][1], 1.0)
        rows.append(row)
        cells = [name, f"{theirs:.2f}", f"{row['networkx_modularity']:.4f}"]
        for method in ("louvain", "leiden"):
            cells += [
                f"{row[method]:.3f}",
                f"{row[method + '_modularity']:.4f}",
                f"{theirs / row[method]:.0f}",
            ]
        print(f"| {' | '.join(cells)} |", flush=True)
    if options.json:
        about = {"clients": options.clients, "date": time.strftime("%Y-%m-%d"), "rows": rows}
        options.json.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
