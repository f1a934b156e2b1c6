"""SignGuard: leave out updates of odd length and of odd shares of positive and negative numbers.

Xu, Huang, Song, Lan: Byzantine-robust Federated Learning through Collaborative Malicious Gradient Filtering, ICDCS 2022,
algorithm 2 (the plain variant). The paper clusters sign statistics with mean shift and keeps the largest cluster:
clients whose data differ much may be a smaller one.
"""

import warnings
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flockwise.aggregation.centered_clipping import clipping_factors
from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_updates
from flockwise.kernels.combine import squared_lengths, weighted_sum
from flockwise.options import NonNegative, Positive
from flockwise.rng import generator
from flockwise.types import Updates, Vector

QUANTILE = 0.5  # of the distances between sign statistics: the width of mean shift, as in the authors' code


@rule(
    "mean of updates of usual length and usual signs, shortened to the median length",
    tolerates="f < K / 2, if honest updates have like signs",
    cost="two passes and a small clustering",
    paper="Xu et al., Byzantine-robust federated learning through collaborative malicious gradient filtering, ICDCS 2022",
    minimum=majority,
    translates=False,
    bounded=True,
)
def signguard(
    updates: Any,
    shortest: Annotated[NonNegative, "shortest length let in, in median lengths"] = 0.1,
    longest: Annotated[Positive, "longest length let in, in median lengths"] = 3.0,
    share: Annotated[float, Field(gt=0, le=1), "share of the coordinates whose signs are counted"] = 0.1,
    seed: int = 0,
) -> Vector:
    """The mean of the clients that pass both filters; of those of usual length, if none passes both."""
    rows = as_updates(updates)
    lengths = np.sqrt(squared_lengths(rows))
    middle = float(np.median(lengths))
    usual = (lengths >= shortest * middle) & (lengths <= longest * middle)
    if not usual.any():
        usual[:] = True  # the bounds leave out everyone: they say nothing
    both = usual & alike_in_signs(sign_shares(rows, share, seed))
    chosen = both if both.any() else usual
    return weighted_sum(rows, chosen * clipping_factors(lengths**2, middle) / chosen.sum())


def sign_shares(rows: Updates, share: float, seed: int) -> NDArray[np.float64]:
    """Of each update the shares of positive, zero and negative numbers, each over the largest such share."""
    size = rows.shape[1]
    count = max(1, int(share * size))
    places = np.sort(generator(seed, "signguard").choice(size, size=count, replace=False, shuffle=False))
    signs = np.sign(rows if count == size else rows[:, places])
    shares = np.stack([(signs == sign).mean(axis=1) for sign in (1, 0, -1)], axis=1)
    return np.asarray(shares / np.maximum(shares.max(axis=0), 1e-8))


def alike_in_signs(shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The largest cluster that mean shift finds in the sign statistics."""
    from sklearn.cluster import MeanShift, estimate_bandwidth

    order = np.lexsort(shares.T)  # the same clusters in whatever order clients stand
    points = shares[order]
    width = float(estimate_bandwidth(points, quantile=QUANTILE)) if len(points) > 1 else 0.0
    if width == 0.0:
        middle = np.median(points, axis=0)
        return np.asarray((shares == middle).all(axis=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # bins too small for binned seeds: it says so and takes all points
        found = MeanShift(bandwidth=width, bin_seeding=True, cluster_all=False).fit(points).labels_
    sizes = np.bincount(found[found >= 0], minlength=1)
    alike = np.empty(len(shares), dtype=np.bool_)
    alike[order] = found == sizes.argmax()
    return alike
