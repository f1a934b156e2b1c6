"""Finding the flocks: every function returns int64 labels 0..C-1 in order of each flock's first client."""

from flockwise.clustering.agglomerative import agglomerative, dendrogram
from flockwise.clustering.automatic_cut import automatic_threshold
from flockwise.clustering.bipartition import bipartition
from flockwise.clustering.checks import in_order
from flockwise.clustering.estimator import from_estimator
from flockwise.clustering.kmeans_elbow import kmeans_elbow
from flockwise.clustering.leftovers import join_flocks
from flockwise.clustering.louvain import leiden, louvain
from flockwise.clustering.modularity import modularity
from flockwise.clustering.registry import CLUSTERERS, Clusterer

__all__ = [
    "CLUSTERERS",
    "Clusterer",
    "agglomerative",
    "automatic_threshold",
    "bipartition",
    "dendrogram",
    "from_estimator",
    "in_order",
    "join_flocks",
    "kmeans_elbow",
    "leiden",
    "louvain",
    "modularity",
]
