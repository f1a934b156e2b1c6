"""Finding the flocks: every function returns int64 labels 0..C-1 in order of each flock's first client."""

from flockwise.clustering.agglomerative import agglomerative, dendrogram
from flockwise.clustering.bipartition import bipartition
from flockwise.clustering.louvain import leiden, louvain
from flockwise.clustering.modularity import modularity

__all__ = ["agglomerative", "bipartition", "dendrogram", "leiden", "louvain", "modularity"]
