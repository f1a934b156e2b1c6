"""Rules that turn the clients' updates into one; each `f(updates, ...) -> vector`, float32.

`updates` is (clients, parameters). Nothing is modified; NaN, Inf, wrong shapes and impossible parameters are
refused with `InputError`. `RULES` and `PRE_AGGREGATIONS` hold them by config name with their contracts.
Called without updates, a rule is bound to its options for a strategy: `flic(rule=median())`.
"""

from typing import TYPE_CHECKING, Any

from flockwise.aggregation.bucketing import bucketing
from flockwise.aggregation.bulyan import bulyan
from flockwise.aggregation.centered_clipping import centered_clipping
from flockwise.aggregation.clipping import adaptive_clipping, clipping
from flockwise.aggregation.coordinatewise import median, trimmed_mean
from flockwise.aggregation.dnc import dnc
from flockwise.aggregation.flame import flame
from flockwise.aggregation.fldetector import fldetector
from flockwise.aggregation.fltrust import fltrust
from flockwise.aggregation.foolsgold import foolsgold
from flockwise.aggregation.geometric_median import geometric_median
from flockwise.aggregation.krum import krum, multi_krum
from flockwise.aggregation.mda import mda
from flockwise.aggregation.meamed import meamed
from flockwise.aggregation.mean import mean
from flockwise.aggregation.momentum import momentum
from flockwise.aggregation.monna import monna
from flockwise.aggregation.nearest_neighbor_mixing import nearest_neighbor_mixing
from flockwise.aggregation.norm_bound import norm_bound
from flockwise.aggregation.rule import (
    PRE_AGGREGATIONS,
    RULES,
    Rule,
    RulePiece,
    pre_aggregation,
    rule,
    rule_from,
)
from flockwise.aggregation.signguard import signguard
from flockwise.aggregation.spectral import caf, smea

__all__ = [
    "PRE_AGGREGATIONS",
    "RULES",
    "Rule",
    "RulePiece",
    "adaptive_clipping",
    "bucketing",
    "bulyan",
    "caf",
    "centered_clipping",
    "clipping",
    "dnc",
    "flame",
    "fldetector",
    "fltrust",
    "foolsgold",
    "geometric_median",
    "krum",
    "mda",
    "meamed",
    "mean",
    "median",
    "momentum",
    "monna",
    "multi_krum",
    "nearest_neighbor_mixing",
    "norm_bound",
    "pre_aggregation",
    "rule",
    "rule_from",
    "signguard",
    "smea",
    "trimmed_mean",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        try:
            return RULES.exported(name)
        except AttributeError:
            return PRE_AGGREGATIONS.exported(name)
