"""Manhattan and Euclidean distances of all pairs of updates."""

from typing import Any

import numpy as np

from flockwise.kernels.absolute import absolute_distances
from flockwise.kernels.checks import as_updates
from flockwise.kernels.gram import squared_distances
from flockwise.similarity.measure import similarity
from flockwise.types import Square


@similarity("sum of absolute differences", kind="distance")
def l1(updates: Any) -> Square:
    """Sums of absolute differences; symmetric, zero on the diagonal."""
    return absolute_distances(as_updates(updates))


@similarity("Euclidean distance", kind="distance", sketches=True)
def l2(updates: Any) -> Square:
    """Euclidean distances; symmetric, zero on the diagonal, right also for nearly equal updates."""
    distances = squared_distances(as_updates(updates))
    return np.sqrt(0.5 * (distances + distances.T))
