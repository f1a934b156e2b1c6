"""Finding the flocks: functions that return int64 labels 0..C-1 in order of each flock's first client.

Beside each stands the same as an estimator of scikit-learn's shape (`Louvain().fit_predict(similarity)`), which a
config can name. A new file in this folder with a class under `@clusterer` is all it takes to add one.
"""

from typing import TYPE_CHECKING, Any

from flockwise.clustering.agglomerative import Agglomerative, agglomerative, dendrogram
from flockwise.clustering.automatic_cut import automatic_threshold
from flockwise.clustering.bipartition import Bipartition, bipartition
from flockwise.clustering.checks import checked_labels, in_order
from flockwise.clustering.contract import CLUSTERERS, Clusterer, ClustererPiece, clusterer
from flockwise.clustering.estimator import Clustering, as_clustering, from_estimator
from flockwise.clustering.kmeans_elbow import KMeansElbow, kmeans_elbow
from flockwise.clustering.louvain import Leiden, Louvain, leiden, louvain
from flockwise.clustering.modularity import modularity
from flockwise.clustering.rejoin import join_flocks

__all__ = [
    "CLUSTERERS",
    "Agglomerative",
    "Bipartition",
    "Clusterer",
    "ClustererPiece",
    "Clustering",
    "KMeansElbow",
    "Leiden",
    "Louvain",
    "agglomerative",
    "as_clustering",
    "automatic_threshold",
    "bipartition",
    "checked_labels",
    "clusterer",
    "dendrogram",
    "from_estimator",
    "in_order",
    "join_flocks",
    "kmeans_elbow",
    "leiden",
    "louvain",
    "modularity",
]

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return CLUSTERERS.exported(name)
