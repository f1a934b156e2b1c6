"""Whether flocks are real."""

import numpy as np
import pytest

from flockwise.similarity import SIMILARITIES
from flockwise.stages.separation import separation
from tests.stages.states import flocks_of_updates, known


@pytest.mark.parametrize("kind", ["similarity", "distance"])
def test_separation_is_large_between_flocks_and_small_within_noise(kind):
    rows, truth = flocks_of_updates([6, 6, 6])
    measure = SIMILARITIES["cosine" if kind == "similarity" else "l2"]
    square = known(rows).compare(measure)
    assert separation(square, truth, kind) > 3
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(truth)
        assert abs(separation(square, shuffled, kind)) < 1


def test_separation_of_a_single_flock_or_of_singletons_is_nothing():
    square = np.eye(4)
    assert separation(square, np.zeros(4, int), "similarity") == 0
    assert separation(square, np.arange(4), "similarity") == 0


def test_pairs_never_compared_do_not_count():
    rows, truth = flocks_of_updates([4, 4])
    square = known(rows).compare(SIMILARITIES["cosine"])
    holes = square.copy()
    holes[0, 7] = holes[7, 0] = np.nan
    assert separation(holes, truth, "similarity") == pytest.approx(
        separation(square, truth, "similarity"), rel=0.3
    )
