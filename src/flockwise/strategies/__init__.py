"""The methods by name; each file lies beside its paper's pseudo-code."""

from typing import TYPE_CHECKING, Any

from flockwise.stages.method import Method
from flockwise.strategies.cfl import byzantine_cfl, cfl
from flockwise.strategies.communities import communities
from flockwise.strategies.custom import custom
from flockwise.strategies.fedavg import fedavg
from flockwise.strategies.fedopt import fedopt
from flockwise.strategies.fl_hc import fl_hc
from flockwise.strategies.flic import flic
from flockwise.strategies.ifca import ifca
from flockwise.strategies.mini_fl import mini_fl
from flockwise.strategies.strategy import MEAN, STRATEGIES, Strategy, find_strategy, strategy

__all__ = [
    "MEAN", "STRATEGIES", "Method", "Strategy", "byzantine_cfl", "cfl", "communities", "custom", "fedavg", "fedopt",
    "find_strategy", "fl_hc", "flic", "ifca", "mini_fl", "strategy",
]  # fmt: skip

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return STRATEGIES.exported(name)
