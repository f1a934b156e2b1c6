"""What the server math is measured against: Flower, ByzFL, SciPy and the time to read the updates once."""

import importlib
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flockwise import aggregation
from flockwise.similarity import cosine, l1, l2

Run = Callable[[], Any]


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
    runs: dict[str, Run] = {
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
    if len(updates) <= 100:
        runs["l1"] = lambda: l1(updates)
    return runs


def flower_runs(flwr: Any, updates: np.ndarray, f: int) -> dict[str, Run]:
    """What Flower has; its pairwise distances only where they end within minutes."""
    if flwr is None:
        return {}
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
    if byz is None:
        return {}
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


def scipy_runs(updates: np.ndarray) -> dict[str, Run]:
    """L1 distances, which Flower and ByzFL do not have."""
    from scipy.spatial.distance import pdist, squareform

    return {"l1": lambda: squareform(pdist(updates, "cityblock"))} if len(updates) <= 100 else {}


def reading_runs(updates: np.ndarray) -> list[Run]:
    """A few ways to read all updates once; the fastest is the limit."""
    weights = np.ones(len(updates), np.float32)
    column = np.ones(updates.shape[1], np.float32)
    flat = updates.ravel()
    return [lambda: weights @ updates, lambda: updates @ column, lambda: flat @ flat]
