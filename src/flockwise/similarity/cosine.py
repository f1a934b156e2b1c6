"""Cosine similarity of all pairs of updates."""

from typing import Any

import numpy as np

from flockwise.kernels.checks import as_updates
from flockwise.kernels.gram import gram
from flockwise.types import Square


def cosine(updates: Any) -> Square:
    """Cosines in [-1, 1], exactly symmetric, 1 on the diagonal; a zero update has 0 with every other."""
    return from_products(gram(as_updates(updates)))


def from_products(products: Square) -> Square:
    """The cosines that belong to a matrix of inner products."""
    lengths = np.sqrt(products.diagonal())
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    cosines = products * inverse[:, None] * inverse[None, :]
    cosines = np.clip(0.5 * (cosines + cosines.T), -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return cosines
