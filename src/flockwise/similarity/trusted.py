"""Deep relative trust: a distance of models that bounds how differently they can behave.

Bernstein, Vahdat, Yue, Liu: On the distance between two neural networks, NeurIPS 2020; used between clients
by the communities paper, equation 2: the product over layers of 1 + |a_l - b_l| / |a_l|, minus 1.
It is not symmetric; the authors' code computes one direction only, so that its result depends on the order
of clients.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from flockwise.errors import InputError
from flockwise.kernels.checks import as_updates, as_vector
from flockwise.kernels.combine import squared_lengths
from flockwise.kernels.gram import squared_distances
from flockwise.similarity.measure import similarity
from flockwise.types import Square

_SYMMETRIZE = ("mean", "max", "upper")


@similarity("deep relative trust, layer by layer: communities", kind="distance")
def trusted(
    models: Any, layers: Sequence[tuple[int, int]], center: Any = None, symmetrize: str = "mean"
) -> Square:
    """Distances of models (not updates) over layers given as (start, stop) columns.

    `center`, such as the global model, only helps precision and speed: the mean of the models if not given.
    `symmetrize` takes the mean or the max of both directions, or mirrors the "upper" triangle as the
    authors' code did. A layer that is zero in `a` has no relative change to speak of: it is skipped for the
    direction from `a` if it is zero in both, and counts as a change of 1 (100 %) if it is not.
    """
    rows = as_updates(models, "models")
    if symmetrize not in _SYMMETRIZE:
        raise InputError(f"symmetrize = {symmetrize!r}: must be one of {', '.join(_SYMMETRIZE)}")
    middle = None if center is None else as_vector(center, rows.shape[1], "center")
    logarithms = np.zeros((len(rows), len(rows)))
    for start, stop in _checked(layers, rows.shape[1]):
        layer = np.ascontiguousarray(rows[:, start:stop])
        lengths = np.sqrt(squared_lengths(layer))
        origin = (
            layer.mean(axis=0, dtype=np.float64).astype(np.float32) if middle is None else middle[start:stop]
        )
        changes = np.sqrt(squared_distances(layer, origin))
        ratios = np.divide(changes, lengths[:, None], out=np.sign(changes), where=lengths[:, None] > 0)
        logarithms += np.log1p(ratios)
    # A liar a thousand times off in a hundred layers is simply far: exp of more than 709 is infinite.
    distances = np.expm1(np.minimum(logarithms, 700.0))
    if symmetrize == "max":
        distances = np.maximum(distances, distances.T)
    elif symmetrize == "mean":
        distances = 0.5 * (distances + distances.T)
    else:
        upper = np.triu(distances, 1)
        distances = upper + upper.T
    np.fill_diagonal(distances, 0.0)
    return distances


def _checked(layers: Sequence[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    if not layers:
        raise InputError("layers: must name at least one (start, stop); (0, parameters) is the whole model")
    for start, stop in layers:
        if not 0 <= start < stop <= size:
            raise InputError(f"layers: ({start}, {stop}) must satisfy 0 <= start < stop <= {size}")
    return [(int(start), int(stop)) for start, stop in layers]
