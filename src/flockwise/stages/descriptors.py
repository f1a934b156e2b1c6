"""Clients by moments of what a model sees in their samples: of all of them, and of each class (FLUX)."""

import numpy as np

from flockwise.rng import generator
from flockwise.similarity import Measure, l2
from flockwise.similarity.measure import as_measure
from flockwise.stages.report import Report


def descriptor(size: int, classes: int) -> Report:
    """Mean and standard deviation of each of `size` numbers: over all samples first, then over those of each class.

    The numbers are what the last layer of the model that was sent sees, projected by one drawn matrix, the same for
    everyone. (1 + classes, 2, size); zeros for a class without samples.
    """

    def make(x: np.ndarray, y: np.ndarray, classes: int) -> dict[str, np.ndarray]:
        draw = generator(0, "descriptors", x.shape[1]).normal(size=(x.shape[1], size)) / np.sqrt(x.shape[1])
        low = x.astype(np.float64) @ draw
        parts = [low, *(low[y == label] for label in range(classes))]
        return {"descriptor": np.stack([_moments(part, size) for part in parts])}

    return Report({"descriptor": (1 + classes, 2, size)}, make, of_latents=True)


def _moments(part: np.ndarray, size: int) -> np.ndarray:
    return np.stack([part.mean(axis=0), part.std(axis=0)]) if len(part) else np.zeros((2, size))


def _whole(rows: np.ndarray) -> np.ndarray:
    return _distances(rows.reshape(len(rows), -1))


def _without_labels(rows: np.ndarray) -> np.ndarray:
    return _distances(rows[:, 0].reshape(len(rows), -1))


def _distances(rows: np.ndarray) -> np.ndarray:
    """Euclidean; who is ten times as far from the middle as is typical, or more, is brought in: nobody else would count."""
    away = rows.astype(np.float64) - np.median(rows, axis=0)
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    most = 10 * np.median(lengths)
    return np.asarray(
        l2.function((away * np.minimum(1.0, most / np.maximum(lengths, 1e-12))).astype(np.float32))
    )


whole: Measure = as_measure(_whole, "descriptors", kind="distance", summary="Euclidean, of whole descriptors")
without_labels: Measure = as_measure(
    _without_labels,
    "descriptors without labels",
    kind="distance",
    summary="Euclidean, of what needs no labels",
)
