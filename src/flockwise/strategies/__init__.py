"""The methods by name; each file lies beside its paper's pseudo-code."""

from collections.abc import Callable
from dataclasses import dataclass

from flockwise.server.method import Method
from flockwise.strategies.cfl import CflOptions, byzantine_cfl, cfl
from flockwise.strategies.communities import CommunitiesOptions, communities
from flockwise.strategies.custom import CustomOptions, custom
from flockwise.strategies.fedavg import FedAvgOptions, fedavg
from flockwise.strategies.fl_hc import FlHcOptions, fl_hc
from flockwise.strategies.flic import FlicOptions, flic
from flockwise.strategies.ifca import IfcaOptions, ifca
from flockwise.strategies.mini_fl import MiniFlOptions, mini_fl
from flockwise.strategies.options import Options, Setting


@dataclass(frozen=True)
class Strategy:
    """A named method: its options, and how it is put together."""

    name: str
    summary: str
    options: type[Options]
    build: Callable[..., Method]


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy("fedavg", "one model for all, with any aggregation rule", FedAvgOptions, fedavg),
        Strategy("fl-hc", "hierarchical clustering of one all-client round", FlHcOptions, fl_hc),
        Strategy("cfl", "recursive bipartition by cosine similarity", CflOptions, cfl),
        Strategy("byzantine-cfl", "bipartition; the smaller part is set apart", CflOptions, byzantine_cfl),
        Strategy("flic", "Louvain on the newest updates, once", FlicOptions, flic),
        Strategy("communities", "Louvain on the newest models, every round", CommunitiesOptions, communities),
        Strategy("ifca", "k models; each client picks by training loss", IfcaOptions, ifca),
        Strategy("mini-fl", "a robust rule in groups by place, hour or user", MiniFlOptions, mini_fl),
        Strategy("custom", "any combination of pieces from the config", CustomOptions, custom),
    )
}

__all__ = ["STRATEGIES", "Options", "Setting", "Strategy"]
