"""Client communities in federated learning, found every round (Algorithms 1 and 2 of the communities paper).

Every round the server compares the newest models of all known clients by deep relative trust, scales the
distances to similarities between 0 and 1, cubes them, and finds communities with Louvain. A community's
model is the plain mean of its members' newest models; the global model the plain mean of the communities.
Clients may change community at any time. It assumes that most clients are heard often.

Where we differ from the paper and its code: distances are symmetrised and centred (the code computed one
direction only and lost precision for close models); WNN's weights sum to one; `resolution` multiplies the
null term, so the paper's value r is our 1 / r; the silhouette is the standard one (theirs counts a client among its own
neighbours).
"""

from typing import Literal

import numpy as np
from pydantic import Field

from flockwise.clustering import louvain, modularity
from flockwise.errors import ConfigError
from flockwise.metrics import silhouette
from flockwise.pieces.aggregation import OverKnown
from flockwise.pieces.attribution import Communities
from flockwise.pieces.evidence import LatestModels
from flockwise.pieces.grouping import Clustered
from flockwise.pieces.measures import MEASURES
from flockwise.pieces.schedule import Every
from flockwise.server.method import Method
from flockwise.strategies.options import Options, Setting
from flockwise.types import Labels, Square


class CommunitiesOptions(Options):
    """Options of the communities method."""

    attribution: Literal["avg", "1nn", "wnn", "late"] = "1nn"
    resolution: float = Field(1.0, gt=0, description="higher finds more and smaller communities")
    power: float = Field(3.0, gt=0, description="exaggerates large distances")
    neighbours: int = Field(3, ge=1, description="wnn: how many communities are mixed")
    beta: float = Field(1.0, gt=0, description="wnn: how fast the weight falls with the distance")
    late_from: int = Field(10, ge=1, description="late: the round from which communities are fixed")


def communities(options: CommunitiesOptions, setting: Setting) -> Method:
    """Communities every round; each client is sent what suits it."""
    if setting.rule.wants_root:
        raise ConfigError(
            f"aggregation.name = {setting.rule.name!r}: communities averages whole models, not updates of one model; "
            "choose a rule without a root set, such as 'geometric-median'"
        )

    def describe(distances: Square, graph: np.ndarray, labels: Labels) -> dict[str, float]:
        quality = modularity(graph, labels, options.resolution)
        return {"modularity": quality, "silhouette": silhouette(distances, labels)}

    return Method(
        name="communities",
        sampler=setting.sampler(per_flock=False),  # Alg. 2 l.2
        evidence=LatestModels(setting.layers),  # Alg. 1 l.2
        grouping=Clustered(
            measure=MEASURES["trusted"],  # eq. 2
            cluster=lambda graph: louvain(graph, options.resolution, setting.seed),  # Alg. 1 l.3
            takes="similarity",  # eq. 3
            power=options.power,
            describe=describe,
        ),
        when=Every(1, every=1, last=options.late_from if options.attribution == "late" else None),
        start="own",
        aggregation=OverKnown(setting.rule),  # Alg. 1 l.4-7
        attribution=Communities(
            options.attribution, options.neighbours, options.beta, options.late_from, setting.layers
        ),  # Alg. 2 l.3-13
        place="largest",
    )
