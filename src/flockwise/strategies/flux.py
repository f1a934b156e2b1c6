"""FLUX, flocks from descriptors of clients' data, and unlabelled newcomers (Fenoglio et al., NeurIPS 2025).

FedAvg for some rounds. In round `warmup` every client describes its data by how the joint model sees it: mean and standard
deviation of what the last layer gets, projected to a few numbers, over all samples and over those of each class. Density
clustering of the descriptors gives the flocks, then FedAvg inside each. A newcomer describes its data by the same model, and
joins the flock nearest in the part that needs no labels. It assumes that the joint model sees what clients differ in.

Where we differ: the projection is drawn once for all (the authors fit a PCA to random points, to the same end). DBSCAN
with two samples to a cluster is single linkage cut at its radius; the radius is found by our automatic cut, not by the
elbow of the neighbours' distances, and flocks no further apart than noise are not acted on. Losses by class and
label-conditioned latents of the authors' longer descriptors are left out. No noise for privacy is added.
"""

from typing import Annotated

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
from flockwise.stages.descriptors import descriptor, whole, without_labels
from flockwise.stages.join import join_nearest
from flockwise.stages.reference import Reference
from flockwise.stages.told import Told
from flockwise.strategies.strategy import MEAN, strategy


@strategy(
    "descriptors of data; newcomers need no labels", "Fenoglio et al., NeurIPS 2025", example={"warmup": 3}
)
def flux(
    *,
    rule: Rule = MEAN,
    warmup: Annotated[Count, "the round in which clients describe their data"] = 5,
    size: Annotated[Count, Shapes("told"), "numbers that latents are projected to"] = 10,
    min_separation: Annotated[NonNegative, "flocks less apart than this are not real"] = 3.0,
    classes: Annotated[Count | None, "where nobody can look it up, in a Flower app"] = None,
) -> Method:
    """FedAvg, descriptors once, FedAvg inside flocks."""
    told, reference, look = Told("descriptor"), Reference(), once(warmup)
    clusters = Clustered(
        whole,
        lambda away, seed: agglomerative(away, "single", "auto"),
        takes="distance",
        min_separation=min_separation,
        draw=lambda away: {"dendrogram": dendrogram(away, "single")},
    )
    census = chain(
        train(everyone), told.remember, reference.keep, find_flocks(told, clusters, look), average(rule)
    )
    usual = chain(
        train(sample, reference), told.remember_new, average(rule), join_nearest(told, without_labels)
    )
    return Method(
        when(look.looks, census, otherwise=usual),
        serve=reference,
        report=descriptor(size, classes) if classes else lambda features, labels: descriptor(size, labels),
    )
