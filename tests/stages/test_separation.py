"""Whether flocks are real."""

import numpy as np
import pytest

from flockwise.similarity import SIMILARITIES
from flockwise.stages.separation import beyond_noise, seen_through_sketches, separation
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


def blurred(square, deviation, seed):
    noise = deviation * np.random.default_rng(seed).standard_normal(square.shape)
    return square + (noise + noise.T) / np.sqrt(2)


def test_what_sketches_add_to_the_noise_is_taken_off():
    rng, truth = np.random.default_rng(3), np.repeat([0, 1], 30)
    square = blurred(0.2 + 0.2 * (truth[:, None] == truth), 0.05, 99)
    assert 3.5 < separation(square, truth, "similarity") < 4.5
    for seed in rng.integers(0, 1000, 5):
        seen = blurred(square, 0.06, seed)
        assert separation(seen, truth, "similarity") < 3
        assert seen_through_sketches(seen, truth, "similarity", 0.06**2, 3.0)
        assert not seen_through_sketches(seen, truth, "similarity", 0.0, 3.0)
        assert not seen_through_sketches(seen, truth, "similarity", 0.06**2, 5.0)


def test_noise_of_sketches_alone_is_no_flock_however_little_is_left_of_it():
    truth = np.repeat([0, 1], 20)
    for seed in range(20):
        seen = blurred(np.full((40, 40), 0.3), 0.05, seed)
        best = np.linalg.eigh(seen - seen.mean())[1][:, -1] > 0  # the split that noise likes best
        assert separation(seen, best.astype(int), "similarity") < beyond_noise(40)
        assert not seen_through_sketches(seen, best.astype(int), "similarity", 0.05**2, 3.0)
        assert not seen_through_sketches(seen, truth, "similarity", 1.0, 3.0), "more blur than there is noise"
