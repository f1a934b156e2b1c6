"""Flockwise on Flower: any strategy inside a user's ServerApp, and Flower as the engine of a config.

Needs the extra: `pip install "flockwise[flower]"`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flockwise.flower.flocks import Flocks
    from flockwise.flower.result import FlocksResult
    from flockwise.flower.supervisor import supervise
    from flockwise.flower.terms import Terms

_HOMES = {"Flocks": "flocks", "FlocksResult": "result", "Terms": "terms", "supervise": "supervisor"}

__all__ = ["Flocks", "FlocksResult", "Terms", "supervise"]


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
