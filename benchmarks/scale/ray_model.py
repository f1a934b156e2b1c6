"""The model of docs/cluster.md, on paper: how long a round takes on more machines than we have. Nothing is measured here.

    python benchmarks/scale/ray_model.py

Core seconds a client are those of benchmarks/results/engine.json (one worker); the rest is assumed, and said in the table.
"""

import json
from pathlib import Path
from statistics import median

ENGINE = json.loads((Path(__file__).parents[1] / "results" / "engine.json").read_text(encoding="utf-8"))
ALONE = "ours, native path, one worker"
CORES, LINK, ORDER, SERVER = (
    16,
    1.25e9,
    1e-3,
    1.0,
)  # of a node; bytes a second; seconds for an order; of the server's work
BYTES = {"papers' CNN": 4 * 1_663_370, "softmax": 4 * 7_850}
NODES = (1, 2, 4, 8, 16, 64)
CLIENTS = 1000


def core_seconds() -> dict[str, tuple[float, int]]:
    """What a client takes, and the bytes of its model."""
    found = ENGINE["results"]
    each = {
        name: median(s for turn in found[name][ALONE]["turns"] for s in turn) / 10
        for name in ("scaling A", "scaling")
    }
    rows = found["B"]["ours, native path"]
    light = rows["cpu"] / sum(map(len, rows["turns"])) / 10
    cnn = BYTES["papers' CNN"]
    return {
        "papers' CNN, 1 epoch": (each["scaling A"], cnn),
        "papers' CNN, 5 epochs": (each["scaling"], cnn),
        "softmax regression": (light, BYTES["softmax"]),
    }


def seconds(nodes: int, each: float, size: int) -> float:
    """A round: the work, the last client, what goes over one link, orders, the server."""
    work = CLIENTS * each / (nodes * CORES)
    server = SERVER * size / BYTES["papers' CNN"]
    return work + each + (CLIENTS + nodes) * size / LINK + nodes * ORDER + server


def main() -> None:
    """Print the table."""
    print(
        f"| {CLIENTS:,} clients a round | core s a client | link full at |",
        *(f"{n} node{'s' if n > 1 else ''} |" for n in NODES),
    )
    print("|---" * (3 + len(NODES)) + "|")
    for name, (each, size) in core_seconds().items():
        cells = [
            f"{(took := seconds(n, each, size)):.2f} s, {seconds(1, each, size) / took:.1f}x |" for n in NODES
        ]
        print(f"| {name} | {each:.2g} | {LINK * each / size:.0f} cores |", *cells)


if __name__ == "__main__":
    main()
