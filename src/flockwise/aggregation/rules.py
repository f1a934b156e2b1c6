"""All aggregation rules and pre-aggregations by the names used in configs."""

import math
from typing import Any

from flockwise.aggregation.bucketing import bucketing
from flockwise.aggregation.bulyan import bulyan
from flockwise.aggregation.centered_clipping import centered_clipping
from flockwise.aggregation.contract import Contract, Parameter, Rule
from flockwise.aggregation.coordinatewise import median, trimmed_mean
from flockwise.aggregation.fltrust import fltrust
from flockwise.aggregation.geometric_median import geometric_median
from flockwise.aggregation.krum import krum, multi_krum
from flockwise.aggregation.mean import mean
from flockwise.aggregation.nearest_neighbor_mixing import nearest_neighbor_mixing
from flockwise.aggregation.norm_bound import norm_bound

_ATTACKERS = Parameter("f", int, "attackers to stand", required=True, low=0)
_RADIUS = Parameter("radius", float, "longest allowed length", required=True, low=0.0)
_STRICT = Parameter("strict", bool, "refuse groups too small for the guarantee", default=True)
_NEIGHBOURS = Parameter("neighbours", str, 'how many neighbours count: "paper" or "n-f-1"', default="paper")


def _majority(f: int = 0, **parameters: Any) -> int:
    return 2 * f + 1


def _trimmed(f: int = 0, trim: float = 0.1, **parameters: Any) -> int:
    if f == 0:
        return 1
    return math.ceil(f / trim - 1e-9) if trim > 0 else 2**31


def _krum(f: int = 0, strict: bool = True, **parameters: Any) -> int:
    return 2 * f + 3 if strict else 3  # of two updates, neither is nearer to the other


def _multi_krum(f: int = 0, m: int | None = None, strict: bool = True, **parameters: Any) -> int:
    return max(_krum(f, strict), m or 1)


def _bulyan(f: int = 0, **parameters: Any) -> int:
    return 4 * f + 3


def _more_than_attackers(f: int = 0, **parameters: Any) -> int:
    return f + 1


def _buckets(count: int, s: int = 2) -> int:
    return -(-count // s)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "mean",
            "weighted mean of the updates",
            mean,
            Contract("K >= 1", "no attacker", "one pass", weighted=True),
        ),
        Rule(
            "median",
            "median of every coordinate",
            median,
            Contract("K >= 2f + 1", "f < K / 2", "a sort of each coordinate, K log K d"),
            minimum=_majority,
        ),
        Rule(
            "trimmed-mean",
            "mean of every coordinate without its lowest and highest values",
            trimmed_mean,
            Contract("K >= f / trim", "f <= trim K", "a sort of each coordinate, K log K d"),
            (Parameter("trim", float, "fraction dropped at each end", default=0.1, low=0.0, high=0.5),),
            _trimmed,
        ),
        Rule(
            "krum",
            "the one update closest to its nearest neighbours",
            krum,
            Contract("K >= 2f + 3", "f <= (K - 3) / 2", "all pairwise distances, K^2 d"),
            (_ATTACKERS, _STRICT, _NEIGHBOURS),
            _krum,
        ),
        Rule(
            "multi-krum",
            "mean of the m updates with the best Krum scores",
            multi_krum,
            Contract("K >= 2f + 3 and K >= m", "f <= (K - 3) / 2", "all pairwise distances, K^2 d"),
            (
                _ATTACKERS,
                Parameter("m", int, "updates to keep; K - f if not given", low=1),
                _STRICT,
                _NEIGHBOURS,
            ),
            _multi_krum,
        ),
        Rule(
            "bulyan",
            "repeated Krum, then the values closest to the median of every coordinate",
            bulyan,
            Contract("K >= 4f + 3", "f <= (K - 3) / 4", "pairwise distances and a sort, K^2 d"),
            (_ATTACKERS,),
            _bulyan,
        ),
        Rule(
            "geometric-median",
            "the point with the least sum of distances to the updates",
            geometric_median,
            Contract("K >= 2f + 1", "f < K / 2 (given weights: less than half of the weight)", "K^2 d"),
            (
                Parameter("steps", int, "most iterations", default=200, low=1),
                Parameter("tolerance", float, "relative change that ends it", default=1e-6, low=0.0),
            ),
            _majority,
        ),
        Rule(
            "centered-clipping",
            "repeated mean of differences clipped to a radius around the last result",
            centered_clipping,
            Contract("K >= 1", "f < K / 2, each pulls at most radius / K a step", "two passes a step"),
            (_RADIUS, Parameter("steps", int, "iterations", default=3, low=1)),
            _majority,
        ),
        Rule(
            "fltrust",
            "mean weighted by agreement with the server's own update",
            fltrust,
            Contract("K >= 1 and a root update", "any f", "three passes", needs_root=True),
        ),
        Rule(
            "norm-bound",
            "mean of updates shortened to a radius",
            norm_bound,
            Contract("K >= 1", "each client pulls at most radius / K", "two passes"),
            (_RADIUS,),
        ),
    )
}

PRE_AGGREGATIONS: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule(
            "nearest-neighbor-mixing",
            "replace each update by the mean of the K - f nearest",
            nearest_neighbor_mixing,
            Contract("K >= f + 1", "as the rule behind it", "distances and a product, K^2 d"),
            (_ATTACKERS,),
            _more_than_attackers,
        ),
        Rule(
            "bucketing",
            "average random groups of s updates",
            bucketing,
            Contract("K >= 1", "the rule behind it sees K / s inputs, up to f bad", "one pass", random=True),
            (Parameter("s", int, "updates in a bucket", default=2, low=1),),
            leaves=_buckets,
        ),
    )
}
