"""FL+HC, hierarchical clustering of local updates (Briggs, Fan and Andras, IJCNN 2020, Algorithm 1).

After `rounds_before` rounds of FedAvg, one round in which all clients train the same model; their updates
are clustered bottom-up until the next merge would exceed a distance threshold; then each cluster trains by
itself from the joint model. It assumes that all clients can be reached once.

Where we differ from the paper: `threshold = "auto"` finds the cut from the distances themselves, because
their scale depends on the model, the learning rate and the round, and lets clients that the cut leaves over
join the flock they belong to; `flocks` cuts into a given number. `repeat` clusters again every so many rounds.
`start = "members"` starts each cluster from its members' mean of the all-client round instead of the joint
model (l.12 says the joint model).
"""

from typing import Annotated, Literal

from pydantic import Field

from flockwise.aggregation import Rule
from flockwise.clustering import agglomerative, dendrogram
from flockwise.errors import InputError
from flockwise.options import Count, Natural, NonNegative
from flockwise.similarity import SIMILARITIES
from flockwise.stages import Clustered, Every, Method, average, chain, everyone, find_flocks, joint, judge_flocks
from flockwise.stages import keep_snapshots, place, restart_from_sent, roll_back, sample, this_round, train, when
from flockwise.stages.judging import JudgeAfter, JudgeName, JudgeRatio
from flockwise.stages.place import Follow
from flockwise.stages.rollback import RollBack, SnapshotEvery
from flockwise.strategies.strategy import MEAN, strategy


@strategy("hierarchical clustering of one all-client round", "Briggs, Fan and Andras, IJCNN 2020")
def fl_hc(
    *,
    rule: Rule = MEAN,
    rounds_before: Annotated[Natural, "n: rounds of FedAvg before the all-client round"] = 10,
    metric: Literal["l1", "l2", "cosine"] = "l1",
    linkage: Literal["average", "complete", "single", "ward"] = "complete",
    threshold: Annotated[NonNegative | Literal["auto"], "the distance at which merging stops; auto finds it"] = "auto",
    flocks: Annotated[Count | None, "merge until at most so many are left, instead"] = None,
    min_separation: Annotated[NonNegative, "with auto: flocks less apart than this are not real"] = 3.0,
    repeat: Annotated[Annotated[int, Field(ge=2)] | None, "cluster again every so many rounds"] = None,
    start: Literal["joint", "members"] = "joint",
    follow: Follow = None,
    judge: JudgeName = "none",
    judge_after: JudgeAfter = None,
    judge_ratio: JudgeRatio = 0.5,
    rollback: RollBack = False,
    snapshot_every: SnapshotEvery = 5,
) -> Method:
    """FedAvg, an all-client round, clusters, FedAvg inside clusters."""
    if linkage == "ward" and metric != "l2":
        raise InputError(
            f"metric = {metric!r}: Ward's linkage adds up squared Euclidean distances; choose metric 'l2', or another "
            "linkage"
        )
    if flocks and threshold != "auto":
        raise InputError(f"flocks = {flocks}: cannot go with strategy.threshold; leave one of them out")
    clusters = Clustered(
        SIMILARITIES[metric],
        lambda away, seed: agglomerative(away, linkage, threshold, flocks=flocks),  # l.10
        takes="distance",
        min_separation=min_separation if threshold == "auto" and not flocks else 0.0,
        draw=lambda away: {"dendrogram": dendrogram(away, linkage)},
    )
    look = Every(rounds_before + 1, repeat)  # l.3
    snapshots = keep_snapshots(rollback, snapshot_every)
    fedavg = chain(train(sample), snapshots, average(rule))  # l.19-24, and inside each cluster
    find = find_flocks(this_round, clusters, look)
    if start == "joint":  # l.12: the round in which everyone trains serves only to find clusters
        census = chain(train(everyone, joint), snapshots, find)  # l.7-10
    else:
        census = chain(train(everyone, joint), snapshots, restart_from_sent, find, average(rule))
    ends = chain(roll_back(rollback), judge_flocks(judge, judge_after, judge_ratio), place(follow))
    return Method(chain(when(look, census, otherwise=fedavg), ends))
