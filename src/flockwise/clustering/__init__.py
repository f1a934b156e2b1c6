"""Finding the flocks: functions that return int64 labels 0..C-1 in order of each flock's first client.

Beside each stands the same as an estimator of scikit-learn's shape (`Louvain().fit_predict(similarity)`), which a
config can name. A new file in this folder with a class under `@clusterer` is all it takes to add one.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.clustering.agglomerative import agglomerative, dendrogram
from flockwise.clustering.automatic_cut import automatic_threshold
from flockwise.clustering.bipartition import bipartition
from flockwise.clustering.checks import checked_labels, in_order
from flockwise.clustering.contract import CLUSTERERS, Clusterer, ClustererPiece, clusterer
from flockwise.clustering.estimator import Clustering, as_clustering, from_estimator
from flockwise.clustering.kmeans_elbow import kmeans_elbow
from flockwise.clustering.louvain import leiden, louvain
from flockwise.clustering.modularity import modularity
from flockwise.clustering.rejoin import join_flocks

__all__ = [
    "CLUSTERERS",
    "Clusterer",
    "ClustererPiece",
    "Clustering",
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
__all__ += [piece.function.__name__ for piece in CLUSTERERS.values()]
