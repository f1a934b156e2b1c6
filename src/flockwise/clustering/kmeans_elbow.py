"""k-means with the number of flocks taken from the elbow of its error curve, as in Mini-FL."""

from typing import Annotated, Any, Self

import numpy as np

from flockwise.clustering.checks import check_points, in_order
from flockwise.clustering.contract import Clusterer, clusterer
from flockwise.errors import InputError
from flockwise.options import Count
from flockwise.rng import derived_seed, generator
from flockwise.types import Labels

REFERENCES = 10  # unstructured data sets that the elbow must beat
TINY = 1e-12


def kmeans_elbow(
    points: Any, k_max: int = 10, seed: int = 0, *, standardise: bool = False
) -> tuple[Labels, int, np.ndarray]:
    """Flocks, how many, and the sum of squared errors (SSE) for k = 1 .. k_max.

    The elbow is the k whose SSE lies farthest below the straight line from the first to the last, on a
    logarithmic scale (on a linear one, five equally spaced groups look like three). It stays at one flock
    unless its SSE, relative to k = 1, is clearly lower than on points spread evenly over the same box (the
    reference of the gap statistic). Features are used as given, so that the SSE keeps their unit;
    `standardise` divides each by its standard deviation first. Equal rows share a flock, and the SSE is 0
    from the number of different rows on.
    """
    rows = check_points(points, "points")
    if k_max < 1:
        raise InputError(f"k_max = {k_max}: must be at least 1; 10 looks for up to 10 flocks")
    rows = rows - rows.mean(axis=0)
    if standardise:
        spread = rows.std(axis=0)
        rows = rows / np.where(spread > 0, spread, 1.0)
    different = len(np.unique(rows, axis=0))
    sse, labels = np.zeros(k_max), [np.zeros(len(rows), dtype=np.int64)]
    sse[0] = float((rows**2).sum())
    for k in range(2, min(k_max, different) + 1):
        found, sse[k - 1] = _kmeans(rows, k, seed, restarts=10)
        labels.append(found)
    k = _elbow(sse, most=min(k_max, different, len(rows) - 1))
    if k > 1 and not _beats_chance(rows, k, sse, seed):
        k = 1
    return in_order(labels[k - 1]), k, sse


@clusterer(
    "k-means, k from the elbow of its error.",
    takes="points",
    paper="Li et al., Mini-FL: enhance federated learning by grouping clients",
)
class KMeansElbow(Clusterer):
    """The flocks of k-means at the elbow of its errors for k = 1 .. k_max (`sse_`); see `kmeans_elbow`."""

    sse_: np.ndarray

    def __init__(
        self,
        *,
        k_max: Annotated[Count, "most flocks to look for"] = 10,
        seed: Annotated[int, "of k-means' starts; a run gives its own"] = 0,
        standardise: Annotated[bool, "divide features by their standard deviation first"] = False,
    ) -> None:
        self.k_max, self.seed, self.standardise = k_max, seed, standardise

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the flocks in points (clients x features)."""
        self.labels_, _, self.sse_ = kmeans_elbow(X, self.k_max, self.seed, standardise=self.standardise)
        return self


def _elbow(sse: np.ndarray, most: int) -> int:
    if most < 2 or sse[0] <= 0:
        return 1
    height = np.log(np.maximum(sse / sse[0], TINY))
    below = (np.linspace(height[0], height[-1], len(sse)) - height)[:most]
    below[0] = -np.inf
    return int(below.argmax()) + 1


def _beats_chance(rows: np.ndarray, k: int, sse: np.ndarray, seed: int) -> bool:
    if sse[k - 1] <= TINY * sse[0]:
        return True
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    along = rows @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    ratios = []
    for reference in range(REFERENCES):
        even = generator(seed, "kmeans reference", reference).uniform(low, high, along.shape)
        whole = float(((even - even.mean(axis=0)) ** 2).sum())
        ratios.append(np.log(max(_kmeans(even, k, seed, restarts=3)[1], TINY * whole) / whole))
    limit = np.mean(ratios) - 2 * np.std(ratios) * np.sqrt(1 + 1 / REFERENCES)
    return bool(np.log(sse[k - 1] / sse[0]) < limit)


def _kmeans(rows: np.ndarray, k: int, seed: int, restarts: int) -> tuple[np.ndarray, float]:
    from sklearn.cluster import KMeans  # slow to import

    model = KMeans(k, n_init=restarts, random_state=derived_seed(seed, "kmeans", k) % 2**32)
    labels = np.asarray(model.fit_predict(rows), dtype=np.int64)
    return labels, float(model.inertia_)
