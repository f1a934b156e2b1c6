"""Agglomerative clustering of clients with a distance threshold, as in FL+HC (Briggs et al., Algorithm 1)."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np

from flockwise.clustering.automatic_cut import automatic_threshold
from flockwise.clustering.checks import check_points, in_order, square
from flockwise.clustering.contract import Clusterer, clusterer
from flockwise.clustering.rejoin import join_flocks
from flockwise.clustering.spanning import Tree
from flockwise.errors import InputError
from flockwise.options import Count, NonNegative
from flockwise.types import Labels, Square

Linkage = Literal["average", "complete", "single", "ward"]


def agglomerative(
    distance: Square | None = None,
    linkage: Linkage = "complete",
    threshold: float | Literal["auto"] = "auto",
    *,
    flocks: int | None = None,
    points: Any = None,
) -> Labels:
    """Flocks whose merging distance is at most `threshold`; a higher one gives fewer flocks.

    `flocks` goes on merging until at most so many are left instead.

    Ward is defined on Euclidean distances, whose scale its heights share; give `points` (clients x
    features) instead of the distances to have them computed. `"auto"` chooses the threshold from the
    distances, see `automatic_threshold`, and then clients left over join the flock they belong to, see
    `join_flocks`.
    """
    if flocks is not None and (flocks < 1 or threshold != "auto"):
        raise InputError(
            f"flocks = {flocks}: must be at least 1, and cannot go with a threshold of {threshold}"
        )
    matrix = _distances(distance, points)
    merges = dendrogram(matrix, linkage)
    cut = flocks or _height(matrix, merges, threshold)
    if len(matrix) == 1:
        return np.zeros(1, dtype=np.int64)
    from scipy.cluster import hierarchy  # here, because importing it is slow

    labels = in_order(hierarchy.fcluster(merges, cut, criterion="maxclust" if flocks else "distance"))
    return join_flocks(matrix, labels) if threshold == "auto" and not flocks else labels


@clusterer(
    "Merge the closest flocks up to a distance.",
    takes="distance",
    paper="Briggs, Fan and Andras, Federated learning with hierarchical clustering, IJCNN 2020",
)
class Agglomerative(Clusterer):
    """Flocks are merged as long as they are no farther apart than the threshold; see `agglomerative`."""

    def __init__(
        self,
        *,
        linkage: Annotated[Linkage, "how far two flocks are apart"] = "complete",
        threshold: Annotated[
            NonNegative | Literal["auto"], "flocks farther apart are not merged; auto: from the distances"
        ] = "auto",
        flocks: Annotated[Count | None, "instead of a threshold: merge until so many are left"] = None,
    ) -> None:
        self.linkage, self.threshold, self.flocks = linkage, threshold, flocks

    @property
    def by_tree(self) -> Callable[[Tree], Labels] | None:
        """See the function of this name."""
        return by_tree(self.linkage, self.threshold, self.flocks)

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the flocks in distances (clients x clients)."""
        self.labels_ = agglomerative(X, self.linkage, self.threshold, flocks=self.flocks)
        return self


def by_tree(
    linkage: Linkage, threshold: float | Literal["auto"] = "auto", flocks: int | None = None
) -> Callable[[Tree], Labels] | None:
    """The same from a spanning tree, where that is enough: single linkage with a cut that is given."""
    if linkage != "single" or (threshold == "auto" and flocks is None):
        return None
    return lambda tree: tree.parts(flocks) if flocks is not None else tree.within(float(threshold))


def _height(matrix: Square, merges: np.ndarray, threshold: float | str) -> float:
    if threshold == "auto":
        return automatic_threshold(matrix, merges)
    if isinstance(threshold, str) or not threshold >= 0:
        raise InputError(f'threshold = {threshold!r}: must be a distance of at least 0, or "auto"')
    return float(threshold)


def dendrogram(
    distance: Square | None = None, linkage: Linkage = "complete", *, points: Any = None
) -> np.ndarray:
    """The merges as SciPy's linkage matrix: rows of (left, right, height, size), one fewer than clients."""
    if linkage not in get_args(Linkage):
        raise InputError(f"linkage = {linkage!r}: must be one of {', '.join(get_args(Linkage))}")
    matrix = _distances(distance, points)
    if len(matrix) == 1:
        return np.empty((0, 4))
    from scipy.cluster import hierarchy

    upper = matrix[np.triu_indices(len(matrix), 1)]
    merges: np.ndarray = hierarchy.linkage(upper, method=linkage)
    return merges


def _distances(distance: Square | None, rows: Any) -> Square:
    if (distance is None) == (rows is None):
        raise InputError("distance and points: give exactly one of them")
    if rows is not None:
        return _euclidean(check_points(rows, "points"))
    matrix = square(distance, "distance")
    if float(matrix.min()) < 0:
        if float(matrix.min()) < -1e-6 * float(matrix.max()):
            raise InputError(
                f"distance has the entry {matrix.min():.3g}: distances are never negative; "
                "for a similarity s in [0, 1] use 1 - s"
            )
        matrix = np.maximum(matrix, 0)
    if float(np.abs(np.diagonal(matrix)).max()) > 1e-3 * float(matrix.max()):
        raise InputError("distance has a diagonal that is not 0: is it a similarity? use 1 - similarity")
    return matrix


def _euclidean(rows: np.ndarray) -> Square:
    from scipy.spatial.distance import pdist, squareform

    matrix: Square = squareform(pdist(rows))
    return matrix
