"""FL+HC, hierarchical clustering of local updates (Briggs, Fan and Andras, IJCNN 2020, Algorithm 1).

After `rounds_before` rounds of FedAvg, one round in which all clients train the same model; their updates
are clustered bottom-up until the next merge would exceed a distance threshold; then each cluster trains by
itself from the joint model. It assumes that all clients can be reached once.

Where we differ from the paper: `threshold = "auto"` finds the cut from the distances themselves, because
their scale depends on the model, the learning rate and the round, and lets clients that the cut leaves over
join the flock they belong to; `flocks` cuts into a given number. `repeat` clusters again every so many rounds.
Among very many, known by sketches, a client that did not answer in the all-client round joins the cluster that its sketch is
most like. `start = "members"` starts each cluster from its members' mean of the all-client round instead of the joint
model (l.12 says the joint model).
"""

from typing import Annotated, Literal

from flockwise.aggregation import Rule
from flockwise.clustering import agglomerative, dendrogram
from flockwise.clustering.agglomerative import by_tree
from flockwise.errors import InputError
from flockwise.notes import AtMostClients, AtRound
from flockwise.options import Count, Natural, NonNegative, Several
from flockwise.similarity import SIMILARITIES
from flockwise.stages import Every, Method, chain, everyone, guards, sample, train, when
from flockwise.stages.attribution import joint
from flockwise.stages.average import average, restart_from_sent
from flockwise.stages.evidence import this_round
from flockwise.stages.grouping import Clustered
from flockwise.stages.newcomers import Newcomers
from flockwise.stages.regroup import find_flocks
from flockwise.strategies.strategy import MEAN, strategy

Threshold = Annotated[NonNegative | Literal["auto"], "the distance at which merging stops; auto finds it"]
EXAMPLE = {"rounds_before": 2, "repeat": 3}


@strategy("hierarchical clustering of one all-client round", "Briggs et al., IJCNN 2020", example=EXAMPLE)
def fl_hc(
    *,
    rule: Rule = MEAN,
    rounds_before: Annotated[Natural, AtRound(1), "n: rounds of FedAvg before the all-client round"] = 10,
    metric: Literal["l1", "l2", "cosine"] = "l1",
    linkage: Literal["average", "complete", "single", "ward"] = "complete",
    threshold: Threshold = "auto",
    flocks: Annotated[Count | None, AtMostClients(), "merge until at most so many are left, instead"] = None,
    min_separation: Annotated[NonNegative, "with auto: flocks less apart than this are not real"] = 3.0,
    repeat: Annotated[Several | None, "cluster again every so many rounds"] = None,
    start: Literal["joint", "members"] = "joint",
    follow: guards.Follow = None,
    judge: guards.JudgeName = "none",
    judge_after: guards.JudgeAfter = None,
    judge_ratio: guards.JudgeRatio = 0.5,
    rollback: guards.RollBack = False,
    snapshot_every: guards.SnapshotEvery = 5,
) -> Method:
    """FedAvg, an all-client round, clusters, FedAvg inside clusters."""
    if linkage == "ward" and metric != "l2":
        raise InputError(f"metric = {metric!r}: Ward's linkage needs Euclidean distances; choose metric 'l2'")
    if flocks and threshold != "auto":
        raise InputError(f"flocks = {flocks}: cannot go with strategy.threshold; leave one of them out")
    clusters = Clustered(
        SIMILARITIES[metric],
        lambda away, seed: agglomerative(away, linkage, threshold, flocks=flocks),  # l.10
        takes="distance",
        min_separation=min_separation if threshold == "auto" and not flocks else 0.0,
        draw=lambda away: {"dendrogram": dendrogram(away, linkage)},
        by_tree=by_tree(linkage, threshold, flocks),
    )
    look = Every(rounds_before + 1, repeat)  # l.3
    newcomers = Newcomers(
        this_round, look, by_distance=metric != "cosine"
    )  # ours, where updates are sketched
    # l.19-24, and inside each cluster
    fedavg = chain(train(sample, newcomers), newcomers.join, guards.watch_flocks(judge), average(rule))
    find = chain(find_flocks(this_round, clusters, look), newcomers.keep)
    census = chain(train(everyone, joint), find)  # l.7-12: it serves only to find clusters
    if start == "members":
        census = chain(train(everyone, joint), restart_from_sent, find, average(rule))
    ends = guards.at_the_end(follow, judge, judge_after, judge_ratio, rollback, snapshot_every)
    return Method(chain(when(look.looks, census, otherwise=fedavg), ends))
