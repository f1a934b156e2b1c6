"""The clusterings by name, for configs and documentation."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flockwise.clustering.agglomerative import agglomerative
from flockwise.clustering.bipartition import bipartition
from flockwise.clustering.kmeans_elbow import kmeans_elbow
from flockwise.clustering.louvain import leiden, louvain
from flockwise.types import Labels, Square


@dataclass(frozen=True)
class Clusterer:
    """A clustering that can be named in a config."""

    name: str
    summary: str
    takes: Literal["similarity", "distance", "points"]
    function: Callable[..., Labels]  # (matrix, **parameters) -> labels
    parameters: Mapping[str, Any]  # defaults


def _bipartition_labels(similarity: Square) -> Labels:
    return bipartition(similarity)[0]


def _kmeans_elbow_labels(points: Any, k_max: int = 10, seed: int = 0, *, standardise: bool = False) -> Labels:
    return kmeans_elbow(points, k_max, seed, standardise=standardise)[0]


def _clusterer(
    name: str,
    takes: Literal["similarity", "distance", "points"],
    function: Callable[..., Labels],
    summary: str,
) -> Clusterer:
    signature = list(inspect.signature(function).parameters.values())[1:]
    defaults = {parameter.name: parameter.default for parameter in signature if parameter.name != "points"}
    return Clusterer(name, summary, takes, function, defaults)


CLUSTERERS: dict[str, Clusterer] = {
    clusterer.name: clusterer
    for clusterer in (
        _clusterer("agglomerative", "distance", agglomerative, "Merge the closest flocks up to a distance."),
        _clusterer("bipartition", "similarity", _bipartition_labels, "The best split in two flocks."),
        _clusterer("louvain", "similarity", louvain, "Communities of high modularity in the similarities."),
        _clusterer("leiden", "similarity", leiden, "As louvain, with flocks that are connected inside."),
        _clusterer("kmeans-elbow", "points", _kmeans_elbow_labels, "k-means, k from the elbow of its error."),
    )
}
