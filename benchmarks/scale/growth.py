"""How the cost of every step of the server grows with clients and with parameters: time, memory, exponents.

    python benchmarks/scale/growth.py --longest 3 --json benchmarks/results/growth.json
    python benchmarks/scale/growth.py --after benchmarks/results/growth.json --json benchmarks/results/growth_further.json

Each cell is one step for so many clients and parameters, once: processor seconds of this process (other work on the machine
changes them little, the clock much), and the most memory it took beside its input. A cell is left out if its input is above
the limit, or if the cell with fewer clients or parameters says that it would take too long. Cells in the file stay, and
those of the files it goes on from (`--after`) are not measured again.
"""

import argparse
import json
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.aggregation import geometric_median, krum, mean, median, trimmed_mean
from flockwise.clustering import louvain
from flockwise.kernels.fold import fold_of
from flockwise.rng import generator
from flockwise.similarity import cosine, one_plus_cosine
from flockwise.stages import Clustered, Known
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import first_state
from flockwise.store.checkpoint import write_checkpoint

CLIENTS = (100, 1_000, 10_000, 100_000, 1_000_000)
PARAMETERS = (10_000, 100_000, 1_000_000, 10_000_000)
WIDTH = 256  # of sketches
GROUPS = 20
MOST_INPUT = 2e9  # bytes
Step = Callable[[np.ndarray], Any]
RULES: dict[str, Step] = {
    "mean": mean.function,
    "median": median.function,
    "trimmed mean": lambda rows: trimmed_mean.function(rows, trim=0.2),
    "Krum": lambda rows: krum.function(rows, f=len(rows) // 5),
    "geometric median": geometric_median.function,
    "cosine, all with all": cosine.function,
    "sketch": lambda rows: fold_of(rows.shape[1], WIDTH, 0)(rows),
}
FLIC = Clustered(
    one_plus_cosine, lambda graph, seed: louvain(graph, 1.0, seed), takes="similarity", min_separation=1.0
)


def flocks(sketched: bool) -> Step:
    """FLIC's look for flocks, given what is remembered of updates: all with all, or a sparse graph."""

    def step(rows: np.ndarray) -> Any:
        known = Known(np.arange(len(rows)), rows.copy, sketched=sketched, pick=lambda some: rows[some])
        return FLIC.find(known, Round(first_state(np.zeros((1, 1)), len(rows)), Setting()))

    return step


def checkpoint(rows: np.ndarray) -> None:
    """What is remembered of all clients, written and made safe on disk."""
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(
            Path(folder), 1, {"memory/sketches/rows": rows, "labels": np.zeros(len(rows), np.int64)}
        )


def planted(clients: int, width: int) -> np.ndarray:
    """Rows in groups, made from a few blocks of noise: what they hold does not matter to the time."""
    rng = generator(0, "growth", clients, width)
    block = rng.standard_normal(min(clients * width, 2**24) + width * 7 + 1, dtype=np.float32)
    rows = np.empty((clients, width), dtype=np.float32)
    middles = rng.standard_normal((GROUPS, width), dtype=np.float32)
    for client in range(clients):
        start = client * width % (len(block) - width)
        np.add(block[start : start + width], middles[client % GROUPS], out=rows[client])
    return rows


def cells() -> list[tuple[str, Step, int, int]]:
    """All that could be measured, the small ones first."""
    found = [(name, step, n, d) for name, step in RULES.items() for d in PARAMETERS for n in CLIENTS]
    found += [("flocks, all with all", flocks(False), n, WIDTH) for n in (100, 300, 1_000, 3_000, 10_000)]
    found += [
        ("flocks, sparse graph", flocks(True), n, WIDTH)
        for n in (3_001, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    ]
    found += [("checkpoint of sketches", checkpoint, n, WIDTH) for n in CLIENTS]
    return sorted(found, key=lambda cell: cell[2] * cell[3])


def too_long(done: list[dict[str, Any]], name: str, clients: int, size: int, longest: float) -> bool:
    """Whether a smaller cell of this step says so, by its own growth or in proportion."""
    smaller = [c for c in done if c["step"] == name and c["clients"] <= clients and c["parameters"] <= size]
    square = name in ("Krum", "cosine, all with all", "flocks, all with all")
    for cell in smaller:
        more = (clients / cell["clients"]) ** (2 if square else 1) * size / cell["parameters"]
        if cell["cpu"] > 0.2 and cell["cpu"] * more > longest:
            return True
    return False


def measured(step: Step, rows: np.ndarray) -> dict[str, float]:
    """Processor seconds and the most bytes beside the input."""
    cpu = time.process_time()
    step(rows)
    cpu = time.process_time() - cpu
    if cpu < 20:
        tracemalloc.start()
        step(rows)
        peak = float(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    else:
        peak = float("nan")
    return {"cpu": cpu, "bytes": peak}


def main() -> None:
    """Measure what the file does not have yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument(
        "--longest", type=float, default=20.0, help="processor seconds of a cell, as foreseen"
    )
    parser.add_argument("--after", type=Path, nargs="*", default=[], help="files with cells that are known")
    parser.add_argument("--most-input", type=float, default=MOST_INPUT, help="bytes of a cell's updates")
    given = parser.parse_args()
    done: list[dict[str, Any]] = (
        json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else []
    )
    before = [cell for path in given.after for cell in json.loads(path.read_text(encoding="utf-8"))]
    have = {(cell["step"], cell["clients"], cell["parameters"]) for cell in [*before, *done]}
    rows = np.zeros((0, 0), np.float32)
    for name, step, clients, size in cells():
        if (name, clients, size) in have or 4.0 * clients * size > given.most_input:
            continue
        if too_long([*before, *done], name, clients, size, given.longest):
            continue
        if rows.shape != (clients, size):
            rows = planted(clients, size)
        done.append({"step": name, "clients": clients, "parameters": size, **measured(step, rows)})
        print(done[-1], flush=True)
        given.json.write_text(json.dumps(done, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
