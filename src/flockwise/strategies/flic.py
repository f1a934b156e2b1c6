"""FLIC, federated learning with incremental clustering (Espinoza Castellon et al., IJCNN 2022, Algorithm 1).

FedAvg while the server keeps each client's newest update; once, after `warmup` rounds, Louvain finds flocks
in the graph of 1 + cosine between those updates; then FedAvg inside each flock. It costs no extra
communication and needs no number of flocks. It assumes that clients of one kind pull the joint model the
same way.

Where we differ from the paper: a client never sampled picks the flock whose model does best on its own
VALIDATION data (the paper used test data). Pairs never compared carry no edge (the authors' code gave
them, and exactly opposite clients, the greatest weight). Flocks that are no further apart than noise are not acted on
(`min_separation`), so that clients of one kind stay together. `warmup = "auto"` acts when the flocks
have stopped changing. `self_loops` keeps the diagonal, which the paper's early singletons suggest it did.
"""

from typing import Annotated, Literal

from pydantic import Field

from flockwise.clustering import louvain, modularity
from flockwise.pieces.aggregation import PerFlock
from flockwise.pieces.evidence import LatestUpdates
from flockwise.pieces.grouping import Clustered
from flockwise.pieces.measures import MEASURES
from flockwise.pieces.schedule import Every, WhenStable
from flockwise.server.method import Method
from flockwise.strategies.options import JudgeOptions, Setting


class FlicOptions(JudgeOptions):
    """Options of FLIC."""

    warmup: Annotated[int, Field(ge=1)] | Literal["auto"] = Field(
        "auto", description="T: rounds of FedAvg before flocks are found"
    )
    patience: int = Field(5, ge=1, description="with auto: rounds the flocks must stay the same")
    resolution: float = Field(1.0, gt=0, description="higher finds more and smaller flocks")
    self_loops: bool = Field(False, description="keep each client's similarity with itself in the graph")
    max_age: int | None = Field(None, ge=1, description="ignore updates older than this many rounds")
    min_separation: float = Field(1.0, ge=0, description="0 acts on whatever Louvain returns")
    refine: float | None = Field(
        3.0, ge=0, description="split a flock whose parts are this far apart; 1000: never"
    )
    follow: float | None = Field(None, ge=0, description="move clients that do this much better elsewhere")


def flic(options: FlicOptions, setting: Setting) -> Method:
    """FedAvg, flocks once, FedAvg inside flocks."""
    return Method(
        name="flic",
        sampler=setting.sampler(),  # l.4, and l.18 inside each flock
        evidence=LatestUpdates(options.max_age, setting.layers),  # l.7
        grouping=Clustered(
            measure=MEASURES["one-plus-cosine"],  # l.11
            cluster=lambda graph: louvain(
                graph, options.resolution, setting.seed, self_loops=options.self_loops
            ),  # l.14
            takes="similarity",
            min_separation=options.min_separation,
            refine=options.refine,
            describe=lambda compared, graph, labels: {
                "modularity": modularity(graph, labels, options.resolution, self_loops=options.self_loops)
            },
        ),
        when=WhenStable(options.patience) if options.warmup == "auto" else Every(options.warmup, every=None),
        start="joint",  # l.16: each flock starts from w_T
        aggregation=PerFlock(setting.rule),  # l.9, and l.22 inside each flock
        place="validation",  # section III, for clients never sampled
        follow=options.follow,
        judge=options.judging(),
        recovery=options.recovery(),
        needs_root=setting.rule.wants_root,
    )
