"""Federated learning for clients that differ: find the flocks, train a model for each, keep the wolves out.

    import flockwise as fw

    clients = fw.splits.label_swap(fw.data.digits(), clients=20, groups=4, seed=1)
    run = fw.run(fw.flic(warmup=10, rule=fw.median()), clients, model=fw.models.mlp, rounds=30)
    run.metrics, run.flocks, run.model(flock=0), run.report()

Methods: shepherd, fedavg, fl_hc, cfl, byzantine_cfl, flic, communities, ifca, mini_fl, custom, ...; all are in `strategies`.
Rules: mean, median, krum, ... Pieces live in the modules data, splits, models, attacks, aggregation, similarity,
clustering, stages, strategies.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from flockwise import (
        aggregation,
        attacks,
        clustering,
        data,
        metrics,
        models,
        schedules,
        similarity,
        splits,
        stages,
        strategies,
        tasks,
        trackers,
    )  # fmt: skip
    from flockwise.aggregation import (
        Rule,
        bulyan,
        centered_clipping,
        fltrust,
        geometric_median,
        krum,
        mean,
        median,
        multi_krum,
        norm_bound,
        trimmed_mean,
    )  # fmt: skip
    from flockwise.clustering import Agglomerative, Bipartition, KMeansElbow, Leiden, Louvain
    from flockwise.config import Config, load_config
    from flockwise.data import Federation
    from flockwise.engine import Engine, Local
    from flockwise.machines import Ray
    from flockwise.runs import Progress, Run, continue_run, fork, list_runs, load_model, open_run, resume, run
    from flockwise.server import Gate, Server
    from flockwise.stages import Method, Report, Setting, State
    from flockwise.strategies import (
        byzantine_cfl,
        cfl,
        communities,
        custom,
        fedavg,
        fedopt,
        fl_hc,
        flic,
        ifca,
        mini_fl,
        shepherd,
        strategy,
    )  # fmt: skip
    from flockwise.studies import Study, study
    from flockwise.tasks import Task
    from flockwise.training import SGD, Adam, AdamW, Optimizer

_HOMES = {
    "flockwise.aggregation": (
        "Rule", "bulyan", "centered_clipping", "fltrust", "geometric_median", "krum", "mean", "median", "multi_krum",
        "norm_bound", "trimmed_mean",
    ),
    "flockwise.clustering": ("Agglomerative", "Bipartition", "KMeansElbow", "Leiden", "Louvain"),
    "flockwise.config": ("Config", "load_config"),
    "flockwise.data": ("Federation",),
    "flockwise.engine": ("Engine", "Local"),
    "flockwise.machines": ("Ray",),
    "flockwise.runs": ("Progress", "Run", "continue_run", "fork", "list_runs", "load_model", "open_run", "resume", "run"),
    "flockwise.server": ("Gate", "Server"),
    "flockwise.stages": ("Method", "Report", "Setting", "State"),
    "flockwise.studies": ("Study", "study"),
    "flockwise.strategies": (
        "byzantine_cfl", "cfl", "communities", "custom", "fedavg", "fedopt", "fl_hc", "flic", "ifca", "mini_fl", "shepherd",
        "strategy",
    ),
    "flockwise.tasks": ("Task",),
    "flockwise.training": ("SGD", "Adam", "AdamW", "Optimizer"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = (
    "aggregation", "attacks", "clustering", "data", "metrics", "models", "schedules", "similarity", "splits",
    "stages", "strategies", "tasks", "trackers",
)  # fmt: skip

__all__ = [
    "SGD", "Adam", "AdamW", "Agglomerative", "Bipartition", "Config", "Engine", "Federation", "Gate", "KMeansElbow",
    "Leiden", "Local", "Louvain", "Method", "Optimizer", "Progress", "Ray", "Report", "Rule", "Run", "Server", "Setting",
    "State", "Study", "Task", "aggregation", "attacks", "bulyan", "byzantine_cfl", "centered_clipping", "cfl",
    "clustering", "communities", "continue_run", "custom", "data", "fedavg", "fedopt", "fl_hc", "flic", "fltrust", "fork",
    "geometric_median", "ifca", "krum", "list_runs", "load_config", "load_model", "mean", "median", "metrics",
    "mini_fl", "models", "multi_krum", "norm_bound", "open_run", "resume", "run", "schedules", "shepherd", "similarity",
    "splits", "stages", "strategies", "strategy", "study", "tasks", "trackers", "trimmed_mean",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return import_module(f"flockwise.{name}")
    raise AttributeError(f"module 'flockwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
