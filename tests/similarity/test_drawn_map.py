"""The map of the clients: alike ones near each other, whatever the matrix holds."""

import numpy as np
import pytest

from flockwise.similarity.drawn_map import drawn_map

TRUTH = np.arange(30) % 3


def similarities() -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, 0.05, (30, 30))
    square = np.where(TRUTH[:, None] == TRUTH, 0.8, 0.2) + (noise + noise.T) / 2
    np.fill_diagonal(square, 1.0)
    return square


@pytest.mark.parametrize("square", [similarities(), np.sqrt(np.maximum(1 - similarities(), 0))])
def test_alike_clients_are_near_each_other_by_similarity_or_distance(square: np.ndarray) -> None:
    points = drawn_map(square)
    centres = np.array([points[group == TRUTH].mean(axis=0) for group in range(3)])
    nearest = np.linalg.norm(points[:, None] - centres[None], axis=2).argmin(axis=1)
    assert np.array_equal(nearest, TRUTH)


def test_distances_in_the_plane_are_kept() -> None:
    where = np.random.default_rng(1).normal(size=(12, 2))
    distance = np.linalg.norm(where[:, None] - where[None], axis=2)
    points = drawn_map(distance)
    assert np.allclose(np.linalg.norm(points[:, None] - points[None], axis=2), distance, atol=1e-5)


def test_clients_never_compared_have_no_place() -> None:
    square = similarities()
    square[4], square[:, 4] = np.nan, np.nan
    points = drawn_map(square)
    assert np.isnan(points[4]).all() and np.isfinite(np.delete(points, 4, axis=0)).all()
    assert np.isnan(drawn_map(np.full((5, 5), np.nan))).all()
