"""SMEA and CAF: leave out those who stretch the updates most in some direction.

SMEA, smallest maximum eigenvalue averaging: Allouah, Guerraoui, Gupta, Pinot, Stephan: On the Privacy-Robustness-Utility
Trilemma in Distributed Learning, ICML 2023. CAF, covariance-bound agnostic filter: Allouah, Guerraoui, Stephan: Towards
Trustworthy Federated Learning with Untrusted Participants, ICML 2025, algorithm 2.
Both ask for the largest eigenvalue of a covariance of d x d numbers. It is that of K x K products of the differences, which
distances give exactly; ByzFL takes one power step from a random vector instead.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.rule import majority, rule
from flockwise.kernels.checks import as_count, as_updates, need_clients
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import content_order
from flockwise.types import Square, Updates, Vector

SUBSETS = 20_000  # tried one by one; beyond, clients are left out one after another
BATCH = 2000
SAME = 1e-6  # eigenvalues closer than this, relative to the larger, count as a tie


@rule(
    "mean of the K - f updates that are stretched least in any direction",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="all pairwise distances, K^2 d, and an eigenvalue for each of K over f subsets (up to 20,000)",
    paper="Allouah et al., On the privacy-robustness-utility trilemma in distributed learning, ICML 2023",
    minimum=majority,
    example={"f": 2},
    bounded=True,
    mean_with={"f": 0},
)
def smea(updates: Any, f: int) -> Vector:
    """The mean of the K - f updates whose covariance has the smallest largest eigenvalue.

    All subsets are tried up to 20,000 of them. With more, clients are left out one after another, each time the one
    without whom the eigenvalue is smallest.
    """
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "SMEA")
    order, away = _in_content_order(rows)
    keep = len(rows) - f
    if math.comb(len(rows), f) <= SUBSETS:
        chosen = _least_stretched(away, itertools.combinations(range(len(rows)), keep))
    else:
        chosen = np.arange(len(rows))
        while len(chosen) > keep:
            chosen = _least_stretched(away, itertools.combinations(chosen.tolist(), len(chosen) - 1))
    coefficients = np.zeros(len(rows))
    coefficients[order[chosen]] = 1.0 / keep
    return weighted_sum(rows, coefficients)


@rule(
    "mean with less and less weight for who stretches the updates most",
    needs="K >= 2f + 1",
    tolerates="f < K / 2",
    cost="all pairwise distances, K^2 d, and up to K eigenvectors",
    paper="Allouah, Guerraoui and Stephan, Towards trustworthy federated learning with untrusted participants, ICML 2025",
    minimum=majority,
    example={"f": 2},
    bounded=True,
    mean_with={"f": 0},
)
def caf(updates: Any, f: int) -> Vector:
    """Of the means on the way, the one whose weighted covariance has the smallest largest eigenvalue.

    In each step everyone loses weight by how far it lies along the direction of the largest eigenvalue, the farthest
    all of it, until no more than K - 2f is left.
    """
    rows = as_updates(updates)
    as_count(f, "f", 0)
    need_clients(len(rows), 2 * f + 1, f, "CAF")
    order, away = _in_content_order(rows)
    weights, best, least = np.ones(len(rows)), np.ones(len(rows)), np.inf
    while weights.sum() > len(rows) - 2 * f:
        shares = weights / weights.sum()
        products = centred_products(away, shares)
        root = np.sqrt(shares)
        values, vectors = np.linalg.eigh(root[:, None] * products * root)
        if values[-1] < least * (1 - SAME):
            best, least = weights, float(values[-1])
        # Who has no weight left is not asked how far it lies: it would hide all others for ever.
        along = np.where(weights > 0, (products @ (root * vectors[:, -1])) ** 2, 0.0)
        if values[-1] <= 0 or along.max() == 0:
            break  # all that count agree
        weights = weights * (1 - along / along.max())
    coefficients = np.empty(len(rows))
    coefficients[order] = best / best.sum()
    return weighted_sum(rows, coefficients)


def centred_products(away: Square, shares: NDArray[np.float64]) -> Square:
    """Inner products of rows minus their mean with these shares, from squared distances; of many at once, too."""
    to_mean = (away * shares).sum(axis=-1)
    spread = (to_mean * shares).sum(axis=-1)[..., None, None]
    products: Square = (to_mean[..., :, None] + to_mean[..., None, :] - away - spread) / 2
    return products


def _in_content_order(rows: Updates) -> tuple[NDArray[np.intp], Square]:
    """An order that does not depend on where clients stand, and squared distances in it."""
    order = content_order(rows)
    return order, squared_distances(rows)[np.ix_(order, order)]


def _least_stretched(away: Square, subsets: "itertools.combinations[tuple[int, ...]]") -> NDArray[np.intp]:
    """The first subset with the smallest largest eigenvalue."""
    best, least = np.empty(0, dtype=np.intp), np.inf
    while batch := list(itertools.islice(subsets, BATCH)):
        members = np.array(batch, dtype=np.intp)
        equal = np.full(members.shape[1], 1.0 / members.shape[1])
        products = centred_products(away[members[:, :, None], members[:, None, :]], equal)
        largest = np.maximum(np.linalg.eigvalsh(products)[:, -1], 0.0)
        lowest = int(np.argmax(largest <= largest.min() * (1 + SAME)))
        if largest[lowest] < least * (1 - SAME):
            best, least = members[lowest], float(largest[lowest])
    return best
