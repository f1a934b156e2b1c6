"""Matrices of client updates that have broken somebody's code before."""

import numpy as np

from flockwise.rng import generator
from flockwise.types import Labels, Updates


def ordinary(clients: int = 9, parameters: int = 40, seed: int = 0) -> Updates:
    """Updates around a common direction."""
    rng = generator(seed, "example updates")
    return (rng.normal(size=parameters) + 0.5 * rng.normal(size=(clients, parameters))).astype(np.float32)


def flocks(sizes: tuple[int, ...] = (5, 4, 6), parameters: int = 60, seed: int = 0) -> tuple[Updates, Labels]:
    """Updates of well separated flocks, and the truth."""
    rng = generator(seed, "example flocks")
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centers = 3.0 * rng.normal(size=(len(sizes), parameters))
    rows = (centers[truth] + 0.3 * rng.normal(size=(len(truth), parameters))).astype(np.float32)
    return rows, truth


def shuffled(count: int, seed: int = 0) -> np.ndarray:
    """A reordering of clients."""
    return generator(seed, "example order").permutation(count)
