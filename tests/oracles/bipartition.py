"""Clustered federated learning's bipartition by trying every split."""

import itertools

import numpy as np


def best_split(similarity):
    """The smallest possible largest cross-similarity over all splits in two."""
    count = len(similarity)
    best = np.inf
    for size in range(1, count // 2 + 1):
        for chosen in itertools.combinations(range(count), size):
            side = np.zeros(count, dtype=bool)
            side[list(chosen)] = True
            best = min(best, similarity[side][:, ~side].max())
    return best
