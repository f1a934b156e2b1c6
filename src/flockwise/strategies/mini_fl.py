"""Mini-FL, robust aggregation inside groups of similar reports (mini-fl paper, section 4).

Before training, reports are collected for a few rounds; of the place, hour and user they come from, the one
that clusters best gives the groups and their boundaries. Then, each round, a robust rule runs inside each
group, and the weighted mean of the groups moves the one global model. It assumes that reports of a kind
share a place, an hour or a user, and that attackers do not know the groups.

Where the paper is open: groups weigh the same (that fits its numbers; "size" is the other reading); a
rule's number of attackers is its share of the group, rounded down; a group too small for the rule uses the
rule's form for small groups (Krum: at least one neighbour; a group of one or two: the mean), since dropping
the group would lose its labels altogether. `groups_from = "updates"` clusters the updates instead.
"""

from typing import Annotated, Literal

from pydantic import Field

from flockwise.aggregation import Rule
from flockwise.clustering import louvain
from flockwise.options import Count
from flockwise.similarity import one_plus_cosine
from flockwise.stages import (
    Clustered,
    Grouping,
    LatestUpdates,
    Method,
    average_groups,
    chain,
    find_flocks,
    once,
    one_model,
    one_model_goes_on,
    sample_from_all,
    train,
)
from flockwise.stages.attribution import OneModel
from flockwise.stages.by_origin import ByFeature, LatestOrigins, OneModelByBoundaries
from flockwise.strategies.strategy import MEAN, strategy

_START = {
    "split": {"name": "noniid_degree", "clients": 20, "degree": 1.0, "visible": "geo"},
    "aggregation": {"name": "median", "attackers": 5},
    "attack": {"name": "reverse", "clients": 5, "scale": 100.0},
    "sampling": {"fraction": 1.0},  # of a few clients in a group, attackers may be the majority
}


@strategy(
    "a robust rule in groups by place, hour or user", start=_START, rule_sees_all=False, example={"collect": 2}
)  # fmt: skip
def mini_fl(
    *,
    rule: Rule = MEAN,
    collect: Annotated[Count, "rounds of reports before groups are made; the model waits"] = 3,
    most_groups: Annotated[int, Field(ge=2), "the elbow is looked for up to here"] = 10,
    group_weights: Literal["equal", "size"] = "equal",
    groups_from: Literal["metadata", "updates"] = "metadata",
) -> Method:
    """Groups once, then a robust rule per group and one global model."""
    serve: OneModel = one_model
    look, updates = once(collect), LatestUpdates()
    source: LatestUpdates | LatestOrigins = updates
    remember = updates.remember_until(look.over)
    groups: Grouping = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity"
    )
    if groups_from == "metadata":  # section 4.1: of place, hour and user, what clusters best
        serve, source, groups = OneModelByBoundaries(), LatestOrigins(), ByFeature(most_groups)
        remember = source.remember
    return Method(
        chain(
            train(sample_from_all, serve),
            remember,
            find_flocks(source, groups, look, one_model_goes_on),
            average_groups(rule, group_weights),  # section 4.2
        ),
        serve=serve,
    )
