"""FedClust, flocks from the weights of the last layer, once (Islam et al., ICPP 2024, Algorithm 1).

In the first round all clients train the first model; the weights of their last layers are compared (Euclidean, the
paper's eq. for its proximity matrix) and clustered bottom-up at a threshold. From then on FedAvg inside each flock. A
newcomer trains the first model too, and joins the flock whose last layers it is nearest to. It assumes that what clients
differ in shows in the last layer after one round.

Where we differ: `threshold = "auto"` finds the cut, and flocks no further apart than noise are not acted on. Whole
updates are sent in the first round as in any other, so that it trains too; the paper sends the last layer alone.
"""

from typing import Annotated, Literal

from flockwise.aggregation import Rule
from flockwise.clustering import agglomerative, dendrogram
from flockwise.options import Count, NonNegative
from flockwise.similarity import l2
from flockwise.stages import (
    Clustered,
    Method,
    average,
    chain,
    everyone,
    find_flocks,
    once,
    sample_from_all,
    train,
    when,
)
from flockwise.stages.anchor import Anchor
from flockwise.stages.join import join_nearest
from flockwise.strategies.strategy import MEAN, strategy

Threshold = Annotated[NonNegative | Literal["auto"], "the distance at which merging stops; auto finds it"]


@strategy("last layers of the first round, once", "Islam et al., ICPP 2024")
def fedclust(
    *,
    rule: Rule = MEAN,
    layers: Annotated[Count, "how many layers are compared, from the last"] = 1,
    linkage: Literal["average", "complete", "single", "ward"] = "average",
    threshold: Threshold = "auto",
    min_separation: Annotated[NonNegative, "with auto: flocks less apart than this are not real"] = 3.0,
) -> Method:
    """One look at the last layers, then FedAvg inside flocks."""
    anchor, look = Anchor(layers), once(1)
    clusters = Clustered(
        l2,
        lambda away, seed: agglomerative(away, linkage, threshold),
        takes="distance",
        min_separation=min_separation if threshold == "auto" else 0.0,
        draw=lambda away: {"dendrogram": dendrogram(away, linkage)},
    )
    first = chain(train(everyone), anchor.remember, find_flocks(anchor, clusters, look), average(rule))
    new = anchor.newcomers(sample_from_all)
    welcome = chain(train(new, anchor), anchor.remember, join_nearest(anchor, l2))
    usual = chain(when(lambda round: len(new(round)) > 0, welcome), train(sample_from_all), average(rule))
    return Method(when(look.looks, first, otherwise=usual))
