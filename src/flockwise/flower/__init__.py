"""Flockwise on Flower: any method inside a user's ServerApp, and Flower as the engine of a run.

Needs the extra: `pip install "flockwise[flower]"`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flockwise.flower.engine import FlowerGrid
    from flockwise.flower.flocks import Flocks
    from flockwise.flower.record_keys import RecordKeys, Terms
    from flockwise.flower.result import FlocksResult, StoppedEarly
    from flockwise.flower.simulated import FlowerSimulation
    from flockwise.flower.supervisor import supervise

_HOMES = {
    "Flocks": "flocks", "FlocksResult": "result", "FlowerGrid": "engine", "FlowerSimulation": "simulated",
    "RecordKeys": "record_keys", "StoppedEarly": "result", "Terms": "record_keys", "supervise": "supervisor",
}  # fmt: skip

__all__ = [
    "Flocks", "FlocksResult", "FlowerGrid", "FlowerSimulation", "RecordKeys", "StoppedEarly", "Terms", "supervise",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Imported when first used: Flower is an optional extra, and slow to import.
    if name not in _HOMES:
        raise AttributeError(f"module 'flockwise.flower' has no attribute {name!r}")
    try:
        return getattr(import_module(f"flockwise.flower.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "flwr":
            from flockwise.errors import EngineError

            raise EngineError('Flower is not installed; pip install "flockwise[flower]"') from error
        raise
