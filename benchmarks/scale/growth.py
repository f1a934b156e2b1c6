"""How the cost of every step of the server grows with clients and with parameters: time, memory, exponents.

    python benchmarks/scale/growth.py --longest 3 --json benchmarks/results/growth.json
    python benchmarks/scale/growth.py --after benchmarks/results/growth.json --json benchmarks/results/growth_further.json
    python benchmarks/scale/growth.py --longest 60 --most-input 4.1e9 \
        --after benchmarks/results/growth{,_further}.json --json benchmarks/results/growth_largest.json

Each cell is one step for so many clients and parameters, once: processor seconds of this process (other work on the machine
changes them little, the clock much), and the most memory it took beside its input, in a second run or, of long ones, in the
same. A cell is left out if its input is above the limit, or if the cell with fewer clients or parameters says that it would
take too long. Cells in the file stay, and those of the files it goes on from (`--after`) are not measured again. A million
clients' updates of 10^4 parameters do not fit in memory: for so many, rules are measured on 1,000.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flockwise.aggregation import (
    centered_clipping,
    fltrust,
    geometric_median,
    krum,
    mean,
    median,
    norm_bound,
    trimmed_mean,
)
from flockwise.clustering import louvain
from flockwise.kernels.fold import fold_of
from flockwise.rng import generator
from flockwise.similarity import cosine, one_plus_cosine
from flockwise.stages import Clustered, Known
from flockwise.stages.stage import Round, Setting
from flockwise.stages.state import first_state
from flockwise.store.checkpoint import write_checkpoint

CLIENTS = (100, 1_000, 10_000, 100_000, 1_000_000)
PARAMETERS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
WIDTH = 256  # of sketches
GROUPS = 20
MOST_INPUT = 2e9  # bytes
LONG = 20.0  # processor seconds; such a step is not done a second time for its memory
Step = Callable[[np.ndarray], Any]
RULES: dict[str, Step] = {
    "mean": mean.function,
    "median": median.function,
    "trimmed mean": lambda rows: trimmed_mean.function(rows, trim=0.2),
    "Krum": lambda rows: krum.function(rows, f=len(rows) // 5),
    "geometric median": geometric_median.function,
    "norm bound": lambda rows: norm_bound.function(rows, radius=0.5 * float(np.linalg.norm(rows[0]))),
    "FLTrust": lambda rows: fltrust.function(rows, root=rows[0]),
    "centred clipping": lambda rows: centered_clipping.function(
        rows, radius=0.5 * float(np.linalg.norm(rows[0]))
    ),
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


def foreseen(done: list[dict[str, Any]], name: str, clients: int, size: int) -> float:
    """Processor seconds that smaller cells of this step speak of, in proportion or, where all are compared, in squares."""
    smaller = [c for c in done if c["step"] == name and c["clients"] <= clients and c["parameters"] <= size]
    power = 2 if name in ("Krum", "cosine, all with all", "flocks, all with all") else 1
    told = [
        cell["cpu"] * (clients / cell["clients"]) ** power * size / cell["parameters"]
        for cell in smaller
        if cell["cpu"] > 0.2
    ]
    return max(told, default=0.0)


def measured(step: Step, rows: np.ndarray, long: bool) -> dict[str, float]:
    """Processor seconds and the most bytes beside the input."""
    cpu = 0.0
    for traced in (True,) if long else (False, True):
        if traced:
            tracemalloc.start()
        begun = time.process_time()
        step(rows)
        cpu = cpu or time.process_time() - begun
    peak = float(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return {"cpu": cpu, "bytes": peak}


def circumstances() -> dict[str, Any]:
    """What a reader may want to know of a cell besides."""
    told = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    return {
        "date": time.strftime("%Y-%m-%d"),
        "load": round(os.getloadavg()[0], 1),
        "commit": told.stdout.strip(),
    }


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
        seconds = foreseen([*before, *done], name, clients, size)
        if seconds > given.longest:
            continue
        if rows.shape != (clients, size):
            del rows
            rows = planted(clients, size)
        cell = {"step": name, "clients": clients, "parameters": size}
        done.append({**cell, **measured(step, rows, seconds > LONG), **circumstances()})
        print(done[-1], flush=True)
        given.json.write_text(json.dumps(done, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
