"""The pieces that `custom` names, and which of them go together."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np

from flockwise.aggregation import Rule
from flockwise.clustering import CLUSTERERS, as_clustering
from flockwise.errors import InputError
from flockwise.options import resolved
from flockwise.plugins import find
from flockwise.similarity import SIMILARITIES, as_measure
from flockwise.stages import Attribution, Bipartition, Clustered, Grouping, LatestUpdates, Stage
from flockwise.stages import latest_models, nothing, one_model, own_flock, this_round
from flockwise.stages.by_origin import ByFeature, LatestOrigins, OneModelByBoundaries
from flockwise.stages.evidence import Source
from flockwise.stages.neighbours import NearestCommunities
from flockwise.types import Labels

Similarity = Annotated[
    str | Callable[..., Any], "a name from `flockwise list similarities`, module:function, or a function"
]
Clustering = Annotated[Any, "a name from `flockwise list clusterers`, module:name, or an estimator"]


def together(
    rule: Rule, when: str, scope: str, keep: str, evidence: str, aggregate: str, attribution: str
) -> bool:
    """Whether flocks are made of whole models; choices that would be ignored are refused."""
    whole = aggregate == "known" or attribution in ("avg", "1nn", "wnn")
    if keep == "largest" and scope == "all":
        raise InputError("keep = 'largest': needs scope = 'within'; for scope = 'all' use judge = 'largest'")
    if when == "stable" and scope == "within":
        raise InputError("when = 'stable': needs scope = 'all'; inside flocks use when = 'every'")
    if whole and evidence not in ("latest-updates", "latest-models"):
        raise InputError(
            f"evidence = {evidence!r}: aggregate = 'known' and the attributions 'avg', '1nn' and 'wnn' compare models; "
            "choose evidence 'latest-models', or another attribution"
        )
    return whole


def source_of(evidence: str, max_age: int | None) -> tuple[Source, Stage]:
    """What clients are compared on, and the stage that remembers it."""
    if evidence == "latest-updates":
        updates = LatestUpdates(max_age)
        return updates, updates.remember
    if evidence == "latest-models":
        return latest_models, latest_models.remember
    if evidence == "metadata":
        origins = LatestOrigins()
        return origins, origins.remember
    return this_round, nothing


def serving_of(attribution: str, evidence: str) -> Attribution:
    """Which model each client has."""
    if attribution == "flock":
        return own_flock
    if attribution == "one-model":
        return OneModelByBoundaries() if evidence == "metadata" else one_model
    return NearestCommunities(attribution)  # type: ignore[arg-type]


def grouping_of(
    evidence: str, similarity: Any, power: float, clustering: Any, options: Mapping[str, Any], min_separation: float
) -> Grouping:
    """How flocks are found; built-in pieces by name, or a user's own."""
    if evidence == "metadata":
        return ByFeature()
    found = find("similarities", similarity, SIMILARITIES) if isinstance(similarity, str) else similarity
    measure = as_measure(found, similarity if isinstance(similarity, str) else None)
    if clustering == "bipartition":
        if min_separation:
            raise InputError(
                f"min_separation = {min_separation:g}: bipartition has a threshold of its own, "
                "clustering_parameters = {threshold = 0.02}"
            )
        given = frozenset({"measure", "power"})
        bounds = resolved(Bipartition, options, given, "strategy.clustering_parameters.")
        return Bipartition(**bounds, measure=None if (measure.name, power) == ("cosine", 1.0) else measure, power=power)
    chosen = find("clusterers", clustering, CLUSTERERS) if isinstance(clustering, str) else clustering
    takes = as_clustering(chosen, options, seed=0, prefix="strategy.clustering_parameters.").takes

    def cluster(matrix: np.ndarray, seed: int) -> Labels:
        return as_clustering(chosen, options, seed=seed).cluster(matrix)

    return Clustered(measure, cluster, takes, power, min_separation)
