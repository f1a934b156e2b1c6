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

from typing import Annotated, Literal

import numpy as np

from flockwise.aggregation import Rule
from flockwise.clustering import louvain, modularity
from flockwise.metrics import silhouette
from flockwise.options import Count, Positive
from flockwise.similarity import trusted
from flockwise.stages import (
    Clustered,
    Every,
    Method,
    average_known,
    chain,
    find_flocks,
    latest_models,
    sample_from_all,
    train,
)
from flockwise.stages.neighbours import NearestCommunities
from flockwise.strategies.strategy import MEAN, strategy
from flockwise.types import Labels, Square


@strategy("Louvain on the newest models, every round", example={"attribution": "wnn"})
def communities(
    *,
    rule: Rule = MEAN,
    attribution: Literal["avg", "1nn", "wnn", "late"] = "1nn",
    resolution: Annotated[Positive, "higher finds more and smaller communities"] = 1.0,
    power: Annotated[Positive, "exaggerates large distances"] = 3.0,
    neighbours: Annotated[Count, "wnn: how many communities are mixed"] = 3,
    beta: Annotated[Positive, "wnn: how fast the weight falls with the distance"] = 1.0,
    weights: Annotated[
        Literal["exp", "inverse-log"], "wnn: exp(-beta * distance), or 1 / log(1 + distance)"
    ] = "exp",
    late_from: Annotated[Count, "late: the round from which communities are fixed"] = 10,
) -> Method:
    """Communities every round; each client is sent what suits it."""

    def describe(distances: Square, graph: np.ndarray, labels: Labels) -> dict[str, float]:
        return {
            "modularity": modularity(graph, labels, resolution),
            "silhouette": silhouette(distances, labels),
        }

    alike = Clustered(
        trusted,  # eq. 2
        lambda graph, seed: louvain(graph, resolution, seed),  # Alg. 1 l.3
        takes="similarity",  # eq. 3
        power=power,
        describe=describe,
    )
    nearest = NearestCommunities(
        attribution, neighbours, beta, late_from, weights == "inverse-log"
    )  # Alg. 2 l.3-13
    return Method(
        chain(
            train(sample_from_all, nearest),  # Alg. 2 l.2
            latest_models.remember,  # Alg. 1 l.2
            find_flocks(latest_models, alike, Every(last=late_from if attribution == "late" else None)),
            average_known(rule, latest_models),  # Alg. 1 l.4-7
        ),
        serve=nearest,
    )
