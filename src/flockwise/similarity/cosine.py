"""Cosine similarity of all pairs of updates."""

from typing import Any

import numpy as np

from flockwise.kernels.checks import as_updates
from flockwise.kernels.gram import gram
from flockwise.similarity.measure import similarity
from flockwise.types import Square


@similarity("cosine of the angle between updates", bottom=-1.0, from_cosines=np.asarray, sketches=True)
def cosine(updates: Any) -> Square:
    """Cosines in [-1, 1], exactly symmetric, 1 on the diagonal; a zero update has 0 with every other."""
    return from_products(gram(as_updates(updates)))


@similarity(
    "1 + cosine, never negative: FLIC",
    top=2.0,
    bottom=0.0,
    from_cosines=lambda cosines: 1.0 + cosines,
    sketches=True,
)
def one_plus_cosine(updates: Any) -> Square:
    """1 + cosine, from 0 for opposite updates to 2 for those that point the same way."""
    return np.asarray(1.0 + cosine(updates))


def from_products(products: Square) -> Square:
    """The cosines that belong to a matrix of inner products."""
    lengths = np.sqrt(products.diagonal())
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    cosines = products * inverse[:, None] * inverse[None, :]
    cosines = np.clip(0.5 * (cosines + cosines.T), -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return cosines
