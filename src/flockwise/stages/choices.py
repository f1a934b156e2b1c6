"""The pieces that `custom` names, and which of them go together."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from flockwise.aggregation import Rule
from flockwise.clustering import CLUSTERERS, as_clustering
from flockwise.errors import InputError
from flockwise.options import resolved
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
from flockwise.stages.evidence import LatestUpdates, Source, ThisRound, latest_models, this_round
from flockwise.stages.grouping import Bipartition, Clustered, Grouping
from flockwise.stages.judging import sets_minorities_apart
from flockwise.stages.neighbours import NearestCommunities
from flockwise.stages.newcomers import Newcomers
from flockwise.stages.regroup import all_go_on, find_flocks, largest_goes_on, split_flocks
from flockwise.stages.relabel import inherited
from flockwise.stages.sampling import everyone, sample, sample_from_all
from flockwise.stages.schedule import Every, Schedule, WhenStable, once
from flockwise.stages.stage import Stage, chain, nothing
from flockwise.stages.stage import when as if_time
from flockwise.stages.train import train
from flockwise.types import Labels

Evidence = Annotated[
    Literal["this-round", "latest-updates", "latest-models", "metadata"], "what clients are compared on"
]
Similarity = Annotated[
    str | Callable[..., Any], "a name from `flockwise list similarities`, module:function, or a function"
]
Clustering = Annotated[Any, "a name from `flockwise list clusterers`, module:name, or an estimator"]
When = Annotated[
    Literal["never", "once", "every", "stable"],
    "rounds in which flocks are looked for; stable: once they stop changing",
]
Scope = Annotated[Literal["all", "within"], "compare all clients anew, or split inside each flock"]
Start = Annotated[
    Literal["joint", "own"],
    "new flocks start from the model after this round, or each from its own mean of it",
]
Keep = Annotated[
    Literal["all", "largest"], "within: go on with all parts of a split, or set all but the largest apart"
]
Attribute = Annotated[
    Literal["flock", "one-model", "avg", "1nn", "wnn"],
    "the model a client gets: its flock's, one for all, or as in communities",
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


def schedule_of(when: str, first: int, every: int, patience: int) -> Schedule | None:
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
    source: Source, groups: Grouping, schedule: Schedule, scope: str, keep: str, attribution: str
) -> Stage:
    """The stage that finds flocks."""
    begin = one_model_goes_on if attribution == "one-model" else inherited
    if scope == "all":
        return find_flocks(source, groups, schedule, begin)
    if keep == "largest":
        warned = [sets_minorities_apart("keep = 'largest'")]
        return split_flocks(source, groups, largest_goes_on, schedule, warned)
    return split_flocks(source, groups, partial(all_go_on, begin=begin), schedule)


def newcomers_of(
    source: Source, similarity: Any, schedule: Schedule | None, scope: str, census: bool, per_flock: bool
) -> Newcomers | None:
    """How newcomers are compared with flocks: where these were all found on updates of one model."""
    again = isinstance(schedule, Every) and schedule.every is not None and not census
    of_updates = isinstance(source, LatestUpdates | ThisRound)
    if schedule is None or scope != "all" or not per_flock or again or not of_updates:
        return None
    return Newcomers(source, schedule, by_distance=similarity == "l2")


def round_of(
    serve: Attribution, remember: Stage, step: Stage, look: Stage | None, schedule: Schedule | None, start: str,
    census: bool, per_flock: bool, newcomers: Newcomers | None = None,
) -> Stage:  # fmt: skip
    """Training, averaging and looking for flocks, in the order that was asked for."""
    find, join, send = look or nothing, nothing, serve
    if newcomers:
        find, join, send = chain(find, newcomers.keep), newcomers.join, newcomers
    order = chain(step, find) if start == "joint" else chain(find, step)
    usual = chain(train(sample if per_flock else sample_from_all, send), join, remember, order)
    if not census or not isinstance(schedule, Every):
        return usual
    alone = find if start == "joint" else chain(restart_from_sent, find, step)
    return if_time(schedule.looks, chain(train(everyone, Joint(serve)), remember, alone), otherwise=usual)


def source_of(evidence: str, max_age: int | None, schedule: Schedule | None) -> tuple[Source, Stage]:
    """What clients are compared on, and the stage that remembers it for as long as anybody will ask."""
    if evidence == "latest-updates":
        updates = LatestUpdates(max_age)
        return updates, updates.remember_until(schedule.over) if schedule else updates.remember
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
        given = frozenset({"measure", "power", "beyond_noise"})
        bounds = resolved(Bipartition, options, given, "strategy.clustering_parameters.")
        return Bipartition(
            **bounds, measure=None if (measure.name, power) == ("cosine", 1.0) else measure, power=power
        )
    chosen = find("clusterers", clustering, CLUSTERERS) if isinstance(clustering, str) else clustering
    meant = as_clustering(chosen, options, seed=0, prefix="strategy.clustering_parameters.")

    def cluster(matrix: np.ndarray, seed: int) -> Labels:
        return as_clustering(chosen, options, seed=seed).cluster(matrix)

    return Clustered(measure, cluster, meant.takes, power, min_separation, by_tree=meant.by_tree)
