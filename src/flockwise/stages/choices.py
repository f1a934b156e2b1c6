"""The pieces that `custom` names, and which of them go together."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from flockwise.aggregation import Rule
from flockwise.clustering import CLUSTERERS, as_clustering
from flockwise.errors import InputError
from flockwise.notes import Names, Only, OptionsOf
from flockwise.options import Count
from flockwise.plugins import find
from flockwise.similarity import SIMILARITIES, as_measure
from flockwise.stages.attribution import Attribution, Joint, one_model, own_flock
from flockwise.stages.average import (
    average,
    average_groups,
    average_known,
    one_model_goes_on,
    restart_from_sent,
)
from flockwise.stages.by_origin import ByFeature, LatestOrigins, OneModelByBoundaries
from flockwise.stages.clusterer_options import by_name, clusterer_options, in_full
from flockwise.stages.evidence import EvidenceSource, LatestUpdates, ThisRound, latest_models, this_round
from flockwise.stages.grouping import Clustered, Grouping, SplitInTwo
from flockwise.stages.join import join_largest
from flockwise.stages.judging import sets_minorities_apart
from flockwise.stages.neighbours import NearestCommunities
from flockwise.stages.newcomers import Newcomers
from flockwise.stages.regroup import all_go_on, find_flocks, largest_goes_on, split_flocks
from flockwise.stages.relabel import inherited
from flockwise.stages.sampling import everyone, sample, sample_from_all
from flockwise.stages.stage import Stage, chain, nothing
from flockwise.stages.stage import when as if_time
from flockwise.stages.timing import Every, Timing, WhenStable, once
from flockwise.stages.train import train
from flockwise.types import Labels

_PREFIX = "strategy.clustering_parameters."
LOOKS = ("once", "every", "stable")  # when flocks are looked for at all
COMPARED = ("this-round", "latest-updates", "latest-models")  # evidence that a similarity is asked about

Evidence = Annotated[
    Literal["this-round", "latest-updates", "latest-models", "metadata"],
    Only(when=LOOKS),
    "what clients are compared on",
]
MaxAge = Annotated[
    Count | None,
    Only(when=LOOKS, evidence="latest-updates", aggregate="this-round", attribution=("flock", "one-model")),
    "latest-updates: ignore older ones",
]
Similarity = Annotated[
    str | Callable[..., Any],
    Names("similarities"),
    Only(when=LOOKS, evidence=COMPARED),
    "a name from `flockwise list similarities`, module:function, or a function",
]
Clustering = Annotated[
    Any,
    Names("clusterers"),
    Only(when=LOOKS, evidence=COMPARED),
    "a name from `flockwise list clusterers`, module:name, or an estimator",
]
ClusteringParameters = Annotated[
    dict[str, Any],
    OptionsOf("clustering", in_full, by_name),
    Only(when=LOOKS, evidence=COMPARED),
    "as `flockwise list clusterers` shows them",
]
When = Annotated[
    Literal["never", "once", "every", "stable"],
    "rounds in which flocks are looked for; stable: once they stop changing",
]
Scope = Annotated[
    Literal["all", "within"], Only(when=LOOKS), "compare all clients anew, or split inside each flock"
]
Start = Annotated[
    Literal["joint", "own"],
    Only(when=LOOKS),
    "new flocks start from the model after this round, or each from its own mean of it",
]
Keep = Annotated[
    Literal["all", "largest"],
    Only(when=LOOKS),
    "within: go on with all parts of a split, or set all but the largest apart (never a majority)",
]
Attribute = Annotated[
    Literal["flock", "one-model", "avg", "1nn", "wnn"],
    "the model a client gets: its flock's, one for all, or as in communities",
]
GroupWeights = Annotated[
    Literal["equal", "size"], Only(attribution="one-model"), "one-model: how groups count"
]
Aggregate = Annotated[
    Literal["this-round", "known"], "replies of this round, or the newest models of all known members"
]
Place = Annotated[
    Literal["validation", "largest"], "clients without a flock: where they do best, or the largest"
]


def together(when: str, scope: str, keep: str, evidence: str, aggregate: str, attribution: str) -> bool:
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


def timing_of(when: str, first: int, every: int, patience: int) -> Timing | None:
    """When flocks are looked for, if ever."""
    if when == "never":
        return None
    if when == "stable":
        return WhenStable(patience)
    return once(first) if when == "once" else Every(first, every)


def step_of(rule: Rule, attribution: str, weights: Literal["equal", "size"], whole: bool) -> Stage:
    """How replies become the next models."""
    if attribution == "one-model":
        return average_groups(rule, weights, wait=False)
    return average_known(rule, latest_models) if whole else average(rule)


def look_of(
    source: EvidenceSource, groups: Grouping, timing: Timing, scope: str, keep: str, attribution: str
) -> Stage:
    """The stage that finds flocks."""
    begin = one_model_goes_on if attribution == "one-model" else inherited
    if scope == "all":
        return find_flocks(source, groups, timing, begin)
    if keep == "largest":
        warned = [sets_minorities_apart("keep = 'largest'")]
        return split_flocks(source, groups, largest_goes_on, timing, warned)
    return split_flocks(source, groups, partial(all_go_on, begin=begin), timing)


def placing_of(place: str, per_flock: bool) -> Stage | None:
    """How clients without a flock find one; None: by their validation data, as the others do."""
    if not per_flock:
        return nothing
    return join_largest if place == "largest" else None


def newcomers_of(
    source: EvidenceSource, similarity: Any, timing: Timing | None, scope: str, census: bool, per_flock: bool
) -> Newcomers | None:
    """How newcomers are compared with flocks: where these were all found on updates of one model."""
    again = isinstance(timing, Every) and timing.every is not None and not census
    of_updates = isinstance(source, LatestUpdates | ThisRound)
    if timing is None or scope != "all" or not per_flock or again or not of_updates:
        return None
    return Newcomers(source, timing, by_distance=similarity == "l2")


def round_of(
    serve: Attribution, remember: Stage, step: Stage, look: Stage | None, timing: Timing | None, start: str,
    census: bool, per_flock: bool, newcomers: Newcomers | None = None,
) -> Stage:  # fmt: skip
    """Training, averaging and looking for flocks, in the order that was asked for."""
    find, join, send = look or nothing, nothing, serve
    if newcomers:
        find, join, send = chain(find, newcomers.keep), newcomers.join, newcomers
    order = chain(step, find) if start == "joint" else chain(find, step)
    usual = chain(train(sample if per_flock else sample_from_all, send), join, remember, order)
    if not census or not isinstance(timing, Every):
        return usual
    alone = find if start == "joint" else chain(restart_from_sent, find, step)
    return if_time(timing.looks, chain(train(everyone, Joint(serve)), remember, alone), otherwise=usual)


def source_of(evidence: str, max_age: int | None, timing: Timing | None) -> tuple[EvidenceSource, Stage]:
    """What clients are compared on, and the stage that remembers it for as long as anybody will ask."""
    if evidence == "latest-updates":
        updates = LatestUpdates(max_age)
        return updates, updates.remember_until(timing.over) if timing else updates.remember
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
    evidence: str,
    similarity: Any,
    power: float,
    clustering: Any,
    options: Mapping[str, Any],
    min_separation: float,
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
        bounds = clusterer_options(clustering, options, _PREFIX)
        return SplitInTwo(
            **bounds, measure=None if (measure.name, power) == ("cosine", 1.0) else measure, power=power
        )
    chosen = find("clusterers", clustering, CLUSTERERS) if isinstance(clustering, str) else clustering
    meant = as_clustering(chosen, options, seed=0, prefix=_PREFIX)

    def cluster(matrix: np.ndarray, seed: int) -> Labels:
        return as_clustering(chosen, options, seed=seed).cluster(matrix)

    return Clustered(measure, cluster, meant.takes, power, min_separation, by_tree=meant.by_tree)
