"""FLAME: keep the largest cluster by direction, shorten to the median length, add noise.

Nguyen, Rieger, Chen, Yalame, Möllering, Fereidooni, Marchal, Miettinen, Mirhoseini, Zeitouni, Koushanfar, Sadeghi,
Schneider: FLAME: Taming Backdoors in Federated Learning, USENIX Security 2022, algorithm 1. Where we differ: clients are
compared by their updates, not by their whole models, which are nearly parallel. By design it keeps one cluster of
more than half of the clients: an honest minority is left out with the attackers.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.centered_clipping import clipping_factors
from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_updates
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import gram
from flockwise.kernels.order import content_order
from flockwise.options import NonNegative
from flockwise.rng import generator
from flockwise.types import Square, Vector


@rule(
    "mean of the largest cluster by direction, shortened to the median length, with noise",
    tolerates="f < K / 2, if honest updates point one way",
    cost="all pairwise products, K^2 d",
    paper="Nguyen et al., FLAME: Taming backdoors in federated learning, USENIX Security 2022",
    minimum=majority,
    translates=False,
    within=False,
    bounded=True,
)
def flame(
    updates: Any,
    noise: Annotated[NonNegative, "standard deviation of the noise, in median lengths"] = 0.001,
    seed: int = 0,
) -> Vector:
    """The mean of the admitted updates, none longer than the median, plus Gaussian noise of its own generator."""
    rows = as_updates(updates)
    products = gram(rows)
    lengths = np.sqrt(products.diagonal())
    middle = float(np.median(lengths))
    order = content_order(rows)  # the same clusters in whatever order clients stand
    admitted = np.empty(len(rows), dtype=np.bool_)
    admitted[order] = largest_cluster(_angles(products[np.ix_(order, order)]))
    joint = weighted_sum(rows, admitted * clipping_factors(lengths**2, middle) / admitted.sum())
    added = generator(seed, "flame noise").standard_normal(joint.shape, dtype=np.float32)
    return joint + added * np.float32(noise * middle)


def largest_cluster(distances: Square) -> NDArray[np.bool_]:
    """Who is in HDBSCAN's cluster of more than half; everyone, where it finds none."""
    from sklearn.cluster import HDBSCAN

    if len(distances) < 3:
        return np.ones(len(distances), dtype=np.bool_)
    # The paper's min_samples = 1 counts without the client itself, scikit-learn's with it.
    found = HDBSCAN(
        metric="precomputed", min_cluster_size=len(distances) // 2 + 1, min_samples=2, allow_single_cluster=True,
        copy=True,
    ).fit(distances).labels_  # fmt: skip
    return found == 0 if (found == 0).any() else np.ones(len(distances), dtype=np.bool_)


def _angles(products: Square) -> Square:
    """Cosine distances; a zero update is as far from all as one at a right angle."""
    lengths = np.sqrt(products.diagonal())
    scale = np.where(lengths > 0, lengths, 1.0)
    cosines = np.clip(products / scale / scale[:, None], -1.0, 1.0)
    away = (
        np.rint((1.0 - cosines) * 2.0**20) / 2.0**20
    )  # smaller differences are rounding, and would part equals
    np.fill_diagonal(away, 0.0)
    return np.asarray((away + away.T) / 2)
