"""Our nearest neighbours against faiss (inverted lists), in one process: processor seconds, recall, and the flocks found.

    pip install faiss-cpu
    python benchmarks/scale/neighbours.py --json benchmarks/results/neighbours.json

Points are sketches of real gradients (see softmax_updates.py). Both get one thread, the same number of lists and of probes.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from softmax_updates import PARAMETERS, Crowd

from flockwise.clustering import leiden
from flockwise.clustering.crowd import _graph, directions
from flockwise.clustering.neighbours import Neighbours, nearest
from flockwise.kernels import set_threads
from flockwise.kernels.fold import fold_of
from flockwise.metrics import adjusted_rand

COUNT = 15
ASKED = 500  # points whose true neighbours are known


def ours(points: np.ndarray, probes: int) -> Neighbours:
    """Buckets and matrix products."""
    return nearest(points, COUNT, probes=probes)


def faiss_lists(points: np.ndarray, probes: int) -> Neighbours:
    """IndexIVFFlat, the exact products inside the lists."""
    import faiss

    faiss.omp_set_num_threads(1)
    lists = int(np.sqrt(2 * len(points)))
    coarse = faiss.IndexFlatIP(points.shape[1])
    index = faiss.IndexIVFFlat(coarse, points.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.train(points[:: max(1, len(points) // (40 * lists))])
    index.add(points)
    index.nprobe = probes
    values, ids = index.search(points, COUNT + 1)
    others = ids != np.arange(len(points))[:, None]
    others[others.all(axis=1), -1] = False  # whoever did not find itself loses the last
    shape = (len(points), COUNT)
    return Neighbours(
        ids[others].reshape(shape).astype(np.int32), values[others].reshape(shape).astype(np.float32)
    )


def measured(name: str, points: np.ndarray, groups: np.ndarray, probes: int) -> dict[str, Any]:
    """One search, judged."""
    cpu = time.process_time()
    found = {"ours": ours, "faiss": faiss_lists}[name](points, probes)
    cpu = time.process_time() - cpu
    products = points[:ASKED] @ points.T
    products[np.arange(ASKED), np.arange(ASKED)] = -np.inf
    true = np.argpartition(-products, COUNT, axis=1)[:, :COUNT]
    recall = np.mean([len(np.intersect1d(a, b)) / COUNT for a, b in zip(true, found.ids, strict=False)])
    graph = _graph(Neighbours(found.ids, np.maximum(found.values, 0.0)))
    return {
        "by": name, "clients": len(points), "width": points.shape[1], "probes": probes, "cpu": cpu, "recall": float(recall),
        "ari": adjusted_rand(leiden(graph), groups),
    }  # fmt: skip


def main() -> None:
    """Measure both by turns."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=50_000)
    parser.add_argument("--json", type=Path, required=True)
    given = parser.parse_args()
    set_threads(1)
    crowd = Crowd(given.clients, 50)
    fold = fold_of(PARAMETERS, 256, 0)
    points = directions(
        np.concatenate([fold(updates) for _, updates in crowd.blocks(crowd.joint_model(3, 1000))])
    )
    found = [measured(name, points, crowd.groups, probes) for probes in (2, 8) for name in ("ours", "faiss")]
    for one in found:
        print(one)
    given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
