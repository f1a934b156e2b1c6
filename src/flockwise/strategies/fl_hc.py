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

from flockwise.clustering import agglomerative, dendrogram
from flockwise.errors import ConfigError
from flockwise.pieces.aggregation import PerFlock
from flockwise.pieces.evidence import ThisRound
from flockwise.pieces.grouping import Clustered
from flockwise.pieces.measures import MEASURES
from flockwise.pieces.schedule import Every
from flockwise.server.method import Method
from flockwise.strategies.options import JudgeOptions, Setting


class FlHcOptions(JudgeOptions):
    """Options of FL+HC; the defaults are what the paper recommends."""

    rounds_before: int = Field(10, ge=0, description="n: rounds of FedAvg before the all-client round")
    metric: Literal["l1", "l2", "cosine"] = "l1"
    linkage: Literal["average", "complete", "single", "ward"] = "complete"
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = Field(
        "auto", description="the distance at which merging stops; auto finds it"
    )
    flocks: int | None = Field(None, ge=1, description="merge until at most so many are left, instead")
    min_separation: float = Field(
        3.0, ge=0, description="with auto: flocks less apart than this are not real"
    )
    repeat: int | None = Field(None, ge=2, description="cluster again every so many rounds")
    start: Literal["joint", "members"] = "joint"
    follow: float | None = Field(None, ge=0, description="move clients that do this much better elsewhere")


def fl_hc(options: FlHcOptions, setting: Setting) -> Method:
    """FedAvg, an all-client round, clusters, FedAvg inside clusters."""
    if options.linkage == "ward" and options.metric != "l2":
        raise ConfigError(
            f"strategy.metric = {options.metric!r}: Ward's linkage adds up squared Euclidean distances; "
            "choose metric 'l2', or another linkage"
        )
    if options.flocks and options.threshold != "auto":
        raise ConfigError(
            f"strategy.flocks = {options.flocks}: cannot go with strategy.threshold; leave one of them out"
        )
    cut = (options.linkage, options.threshold)
    return Method(
        name="fl-hc",
        sampler=setting.sampler(),  # l.19-20, and inside each cluster
        evidence=ThisRound(setting.layers),  # l.7-9: everyone trains the same model
        grouping=Clustered(
            measure=MEASURES[options.metric],
            cluster=lambda away: agglomerative(away, *cut, flocks=options.flocks),  # l.10
            takes="distance",
            min_separation=options.min_separation if cut[1] == "auto" and not options.flocks else 0.0,
            draw=lambda away: {"dendrogram": dendrogram(away, options.linkage)},
        ),
        when=Every(options.rounds_before + 1, options.repeat, census=True),  # l.3
        start="joint" if options.start == "joint" else "own",  # l.12
        skip_census=options.start == "joint",
        aggregation=PerFlock(setting.rule),  # l.24
        follow=options.follow,
        judge=options.judging(),
        recovery=options.recovery(),
        needs_root=setting.rule.wants_root,
    )
