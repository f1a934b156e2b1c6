"""PACFL, flocks from the principal angles between clients' data subspaces (Vahidian et al., AAAI 2023, Algorithm 1).

Before anything is averaged, every client tells the first p left singular vectors of its data (l.5: truncated SVD). The
server has the angles between all pairs (l.7: eq. 2, the smallest principal angle, or eq. 3, over vectors of one rank) and
cuts a dendrogram of them at beta degrees (l.8). Then FedAvg inside each flock (l.9-). It assumes that kinds of clients see
different samples: labels that are swapped show only with `angle = "ordered"`, class by class.

Where we differ: `threshold = "auto"` finds the cut from the angles, whose scale hangs on the data; flocks no further apart
than noise are not acted on. As in the authors' code, vectors are taken of each class by itself (`by_class`) and the
smallest angle is that of two single vectors; unlike it, a vector and its negative count as one, since an SVD gives either.
Eq. 3 is divided by the number of angles, so that the threshold is in degrees. A newcomer tells its vectors with its
first reply and joins the flock nearest on the mean (Algorithm 3 extends the matrix and clusters again).
"""

from typing import Annotated, Literal

from flockwise.aggregation import Rule
from flockwise.clustering import agglomerative, dendrogram
from flockwise.notes import Shapes
from flockwise.options import Count, NonNegative
from flockwise.stages import (
    Clustered,
    Method,
    average,
    chain,
    everyone,
    find_flocks,
    once,
    sample,
    train,
    when,
)
from flockwise.stages.join import join_nearest
from flockwise.stages.report import Report
from flockwise.stages.subspaces import Angles, angles, directions
from flockwise.stages.told import Told
from flockwise.strategies.strategy import MEAN, strategy

Threshold = Annotated[NonNegative | Literal["auto"], "beta: degrees at which merging stops; auto finds it"]
Sizes = Annotated[Count | None, "where nobody can look it up, in a Flower app"]


@strategy("angles between the clients' data subspaces, once", "Vahidian et al., AAAI 2023")
def pacfl(
    *,
    rule: Rule = MEAN,
    vectors: Annotated[Count, Shapes("told"), "p: singular vectors of a client's data (of each class)"] = 3,
    by_class: Annotated[bool, Shapes("told"), "of each class by itself, as the authors' code has it"] = True,
    angle: Annotated[
        Angles, "the smallest of all pairs, or the mean over vectors of one class and rank"
    ] = "smallest",
    linkage: Literal["average", "complete", "single"] = "complete",
    threshold: Threshold = "auto",
    min_separation: Annotated[NonNegative, "with auto: flocks less apart than this are not real"] = 3.0,
    features: Sizes = None,
    classes: Sizes = None,
) -> Method:
    """Flocks from the data before training, then FedAvg inside them."""
    told, measure, look = Told("directions"), angles(angle), once(1)
    clusters = Clustered(
        measure,
        lambda away, seed: agglomerative(away, linkage, threshold),  # l.8
        takes="distance",
        min_separation=min_separation if threshold == "auto" else 0.0,
        draw=lambda away: {"dendrogram": dendrogram(away, linkage)},
    )
    first = chain(train(everyone), told.remember, find_flocks(told, clusters, look), average(rule))
    usual = chain(train(sample), told.remember, average(rule), join_nearest(told, measure))

    def report(numbers: int, labels: int) -> Report:
        return directions(vectors, by_class, features or numbers, classes or labels)

    known = features and (classes or not by_class)
    return Method(
        when(look.looks, first, otherwise=usual),
        report=report(features or 1, classes or 1) if known else report,
    )
