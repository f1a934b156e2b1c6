"""Bucketing: average the updates of random small groups before a robust rule.

Karimireddy, He, Jaggi: Byzantine-Robust Learning on Heterogeneous Datasets via Bucketing, ICLR 2022.
Makes honest inputs more alike; each attacker spoils one bucket, so a rule behind it sees K / s inputs with
up to f bad ones.
"""

from typing import Annotated, Any

import numpy as np

from flockwise.aggregation.rule import pre_aggregation
from flockwise.kernels.checks import as_count, as_rows, refuse_not_finite
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.order import content_order
from flockwise.options import Count
from flockwise.rng import generator
from flockwise.types import Updates


def _buckets(count: int, s: int = 2, **options: Any) -> int:
    return -(-count // s)


@pre_aggregation(
    "average random groups of s updates",
    tolerates="the rule behind it sees K / s inputs, up to f bad",
    cost="one pass",
    leaves=_buckets,
    example={"s": 2, "seed": 3},
    translates=False,  # which updates share a bucket depends on what they hold
    scales=False,
    exact_order=True,
    in_blocks=True,
)
def bucketing(
    updates: Any, s: Annotated[Count, "updates in a bucket"] = 2, seed: int | np.random.Generator = 0
) -> Updates:
    """A matrix of the means of random buckets of s updates; the last bucket takes what is left.

    The buckets depend on the seed and on what the updates hold, not on the order of clients.
    """
    rows = as_rows(updates)
    size = as_count(s, "s", 1)
    random = seed if isinstance(seed, np.random.Generator) else generator(seed, "bucketing")
    refuse_not_finite(rows)
    order, places = content_order(rows), random.permutation(len(rows))
    buckets = [order[np.sort(places[start : start + size])] for start in range(0, len(rows), size)]
    return np.stack(
        [weighted_sum(rows[bucket], np.full(len(bucket), 1.0 / len(bucket))) for bucket in buckets]
    )
