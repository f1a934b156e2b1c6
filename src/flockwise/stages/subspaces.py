"""Clients by the subspaces that their samples lie in: a few principal directions each, and the angles between them."""

from typing import Literal

import numpy as np

from flockwise.errors import InputError
from flockwise.similarity import Measure
from flockwise.similarity.measure import as_measure
from flockwise.stages.report import Report
from flockwise.types import Square

Angles = Literal["smallest", "ordered"]
TINY = 1e-12


def directions(count: int, by_class: bool, features: int, classes: int) -> Report:
    """A report of the first singular vectors of a client's samples: of each class by itself, or of all of them.

    (classes, count, features), or (1, count, features); zeros where there are too few samples.
    """

    if by_class and classes < 1:
        raise InputError(
            "strategy.by_class = true: samples of this data do not have one class each; set it to false"
        )

    def make(x: np.ndarray, y: np.ndarray, classes: int) -> dict[str, np.ndarray]:
        flat = x.reshape(len(x), -1).astype(np.float64)
        parts = [flat[y == label] for label in range(classes)] if by_class else [flat]
        return {"directions": np.stack([_directions(part, count) for part in parts])}

    return Report({"directions": (classes if by_class else 1, count, features)}, make)


def _directions(samples: np.ndarray, count: int) -> np.ndarray:
    found = np.zeros((count, samples.shape[1]))
    if len(samples):
        first = np.linalg.svd(samples, full_matrices=False)[2][:count]  # the left ones of samples as columns
        found[: len(first)] = first
    return found


def angles(kind: Angles) -> Measure:
    """How far two clients are apart, in degrees, by the directions that they have told.

    smallest: of any direction of one with any of the other. ordered: the mean of the angles of those in the same place
    (of one class, of one rank), where both have one. Directions have no sign.
    """

    def compare(rows: np.ndarray) -> Square:
        held = rows.reshape(len(rows), -1, rows.shape[-1]).astype(np.float64)
        held /= np.maximum(
            np.linalg.norm(held, axis=2, keepdims=True), TINY
        )  # a long one is nearer to nobody
        there = np.asarray(held.any(axis=2))
        square = np.full((len(rows), len(rows)), 90.0)
        for one, mine in enumerate(held):
            for other in range(one + 1, len(held)):
                if kind == "smallest":
                    cosines = np.abs(mine @ held[other].T).max(initial=0.0, keepdims=True)
                else:
                    both = there[one] & there[other]
                    cosines = np.abs(np.einsum("if,if->i", mine[both], held[other][both]))
                if cosines.size:
                    away = np.degrees(np.arccos(np.clip(cosines, 0.0, 1.0))).mean()
                    square[one, other] = square[other, one] = away
        np.fill_diagonal(square, 0.0)
        return square

    return as_measure(compare, "angles", kind="distance", summary="angles between principal directions")
