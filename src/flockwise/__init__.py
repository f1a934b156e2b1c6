"""Federated learning for clients that differ: find the flocks, train a model for each, keep the wolves out."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from flockwise.config import Config, load_config
    from flockwise.data import Federation
    from flockwise.runs import Progress, fork, load_model, resume, run
    from flockwise.store import Run, list_runs, open_run

_HOMES = {
    "Config": "flockwise.config",
    "load_config": "flockwise.config",
    "Federation": "flockwise.data",
    "Progress": "flockwise.runs",
    "fork": "flockwise.runs",
    "load_model": "flockwise.runs",
    "resume": "flockwise.runs",
    "run": "flockwise.runs",
    "Run": "flockwise.store",
    "list_runs": "flockwise.store",
    "open_run": "flockwise.store",
}

__all__ = [
    "Config", "Federation", "Progress", "Run", "fork", "list_runs", "load_config", "load_model", "open_run", "resume", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Names are imported when first used, so that `flockwise --help` does not load torch.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'flockwise' has no attribute {name!r}")
