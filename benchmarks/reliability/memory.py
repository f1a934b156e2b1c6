"""The memory of a server beside the formula that refuses what does not fit: `python benchmarks/reliability/memory.py`.

`runs/capacity.py` says what a method's models and memories take. On top of that a round holds its replies, which are
clients x parameters float32, and works with copies of them: at its peak a server may take the formula and three times
the replies.
What Python and NumPy allocate is counted (tracemalloc), in a server that is told made-up replies.
"""

import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

import flockwise as fw
from flockwise.messages import Replies
from flockwise.rng import generator
from flockwise.runs.capacity import memory_needed
from flockwise.server import Server
from flockwise.studies.surroundings import surroundings

ROUNDS = 6
COPIES = 3
METHODS = {
    "fedavg": fw.fedavg, "flic": lambda: fw.flic(warmup=3), "communities": fw.communities,
    "fl_hc": lambda: fw.fl_hc(rounds_before=3),
    "ifca": lambda: fw.ifca(flocks=3),
}  # fmt: skip
SIZES = ((100, 100_000), (400, 25_000), (1000, 2_000))


def measured(make: Any, clients: int, parameters: int) -> tuple[int, int]:
    """The peak of a server's memory in so many rounds, and what the formula says."""
    random = generator(0, "memory")
    method = make()
    tracemalloc.start()
    server = Server(method, np.zeros((method.models, parameters), np.float32), clients)
    tracemalloc.reset_peak()
    while server.round < ROUNDS:
        plan = server.ask()
        who = np.array(sorted(task.client for task in plan.tasks), np.int64)
        updates = random.standard_normal((len(who), parameters), dtype=np.float32)
        updates[who % 2 == 1] += 1
        count = len(who)
        server.tell(
            Replies(plan.round, who, updates, np.full(count, 10), np.zeros(count, np.int64), np.zeros(count),
                    np.full((count, 3), np.nan))
        )  # fmt: skip
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, memory_needed(method, clients, parameters)


def main() -> int:
    """Measure all; 1 if the formula does not hold."""
    rows = []
    for name, make in METHODS.items():
        for clients, parameters in SIZES:
            peak, needed = measured(make, clients, parameters)
            allowed = needed + COPIES * clients * parameters * 4
            row = {"method": name, "clients": clients, "parameters": parameters, "held": peak <= allowed}
            sizes = {"peak_mb": peak, "formula_mb": needed, "allowed_mb": allowed}
            rows.append({**row, **{key: round(size / 1e6, 1) for key, size in sizes.items()}})
            print(rows[-1], flush=True)
    made = surroundings(1)
    content = {"rows": rows, "command": "python benchmarks/reliability/memory.py", **made}
    name = f"memory-{re.sub('[^0-9TZ]', '', made['date'])}.json"
    (Path(__file__).parent / "results" / name).write_text(json.dumps(content, indent=1) + "\n")
    return int(not all(row["held"] for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
