"""FLIC, federated learning with incremental clustering (Espinoza Castellon et al., IJCNN 2022, Algorithm 1).

FedAvg while the server keeps each client's newest update; once, after `warmup` rounds, Louvain finds flocks
in the graph of 1 + cosine between those updates; then FedAvg inside each flock. It costs no extra
communication and needs no number of flocks. It assumes that clients of one kind pull the joint model the
same way.

Where we differ from the paper: a client never sampled picks the flock whose model does best on its own
VALIDATION data (the paper used test data); among very many, known by sketches, one that is first heard later joins
the flock that its sketch is most like. Pairs never compared carry no edge (the authors' code gave
them, and exactly opposite clients, the greatest weight). Flocks that are no further apart than noise are not acted on
(`min_separation`), so that clients of one kind stay together. `warmup = "auto"` acts when the flocks
have stopped changing. `self_loops` keeps the diagonal, as the authors' code does.
"""

from typing import Annotated, Literal

from flockwise.aggregation import Rule
from flockwise.clustering import louvain, modularity
from flockwise.notes import AtRound
from flockwise.options import Count, NonNegative, Positive
from flockwise.similarity import one_plus_cosine
from flockwise.stages import LatestUpdates, Method, average, chain, find_flocks, guards, sample, train
from flockwise.stages.grouping import Clustered
from flockwise.stages.newcomers import Newcomers
from flockwise.stages.timing import WhenStable, once
from flockwise.strategies.strategy import MEAN, strategy

EXAMPLE = {"warmup": "auto", "patience": 2, "rollback": True, "judge": "validation"}


@strategy("Louvain on the newest updates, once", "Espinoza Castellon et al., IJCNN 2022", example=EXAMPLE)
def flic(
    *,
    rule: Rule = MEAN,
    warmup: Annotated[
        Count | Literal["auto"], AtRound(), "T: rounds of FedAvg before flocks are found"
    ] = "auto",
    patience: Annotated[Count, "with auto: rounds the flocks must stay the same"] = 5,
    resolution: Annotated[Positive, "higher finds more and smaller flocks"] = 1.0,
    self_loops: Annotated[bool, "keep each client's similarity with itself in the graph"] = False,
    max_age: Annotated[Count | None, "ignore updates older than this many rounds"] = None,
    min_separation: Annotated[NonNegative, "0 acts on whatever Louvain returns"] = 1.0,
    refine: Annotated[
        NonNegative | None,
        "split a flock whose parts are this far apart (above 100 clients: 2/3); 1000: never",
    ] = 3.0,
    follow: guards.Follow = None,
    judge: guards.JudgeName = "none",
    judge_after: guards.JudgeAfter = None,
    judge_ratio: guards.JudgeRatio = 0.5,
    rollback: guards.RollBack = False,
    snapshot_every: guards.SnapshotEvery = 5,
) -> Method:
    """FedAvg, flocks once, FedAvg inside flocks."""
    newest = LatestUpdates(max_age)  # M
    look = WhenStable(patience) if warmup == "auto" else once(warmup)
    newcomers = Newcomers(newest, look)
    communities = Clustered(
        one_plus_cosine,  # l.11
        lambda graph, seed: louvain(graph, resolution, seed, self_loops=self_loops),  # l.14
        takes="similarity",
        min_separation=min_separation,
        refine=refine,
        describe=lambda compared, graph, labels: {
            "modularity": modularity(graph, labels, resolution, self_loops=self_loops)
        },
    )
    return Method(
        chain(
            train(sample, newcomers),  # l.4, and l.18 inside each flock
            newcomers.join,  # ours, among very many: by what they resemble
            newest.remember_until(look.over),  # l.7; none is kept once flocks are found
            guards.watch_flocks(judge, 4 * patience if warmup == "auto" else None),
            average(rule),  # l.9, and l.22 inside each flock
            # l.10-16: each flock starts from w_T
            find_flocks(newest, communities, look),
            newcomers.keep,
            # section III: clients never sampled find their flock; the rest is ours
            guards.at_the_end(follow, judge, judge_after, judge_ratio, rollback, snapshot_every),
        )
    )
