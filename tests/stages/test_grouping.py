import numpy as np
import pytest

from flockwise.clustering import agglomerative, louvain
from flockwise.similarity import SIMILARITIES
from flockwise.stages import Bipartition, Clustered, Known
from flockwise.stages.grouping import as_kind
from flockwise.stages.separation import separation
from tests.stages.states import a_round, state

ROUND, LATE = a_round(state([0])), a_round(state([0], round=9))


def known(rows):
    rows = np.asarray(rows, np.float32)
    return Known(np.arange(len(rows)) * 2, lambda: rows)


def clustered(graph, seed):
    return louvain(graph, seed=seed)


def flocks_of_updates(sizes, noise=0.3, dimension=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centers = rng.normal(size=(len(sizes), dimension))
    return centers[truth] + noise * rng.normal(size=(len(truth), dimension)), truth


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


@pytest.mark.parametrize("name", list(SIMILARITIES))
@pytest.mark.parametrize("wanted", ["similarity", "distance"])
def test_every_measure_can_be_given_to_every_clusterer(name, wanted):
    rows, _ = flocks_of_updates([5, 5])
    square = known(rows).compare(SIMILARITIES[name])
    turned = as_kind(square, SIMILARITIES[name], wanted)
    assert np.nanmin(turned) >= 0
    inside = turned[0, 1:5].mean()
    across = turned[0, 5:].mean()
    assert inside > across if wanted == "similarity" else inside < across


def test_what_is_found_names_true_client_numbers():
    rows, truth = flocks_of_updates([3, 5])
    found = Clustered(SIMILARITIES["l2"], lambda away, seed: agglomerative(away, "ward"), "distance").find(
        known(rows), ROUND
    )
    assert found.clients.tolist() == list(range(0, 16, 2))
    assert found.flocks == 2 and len(set(zip(found.labels.tolist(), truth.tolist(), strict=True))) == 2


def test_flocks_no_further_apart_than_noise_are_not_kept():
    rows = np.random.default_rng(1).normal(size=(14, 60)) + 1
    grouping = Clustered(SIMILARITIES["one-plus-cosine"], clustered, "similarity", min_separation=1e9)
    assert grouping.find(known(rows), ROUND).flocks == 1


@pytest.mark.parametrize("count", [0, 1])
def test_nobody_and_one_client_are_one_flock_at_most(count):
    rows = np.zeros((count, 4), np.float32)
    for grouping in (Bipartition(), Clustered(SIMILARITIES["cosine"], clustered, "similarity")):
        assert grouping.find(known(rows), ROUND).flocks == count


def test_a_bipartition_splits_only_below_its_threshold():
    rows = np.array([[1, 0.1], [1, 0.2], [-1, 0.1], [-1, 0.3]])
    found = Bipartition(threshold=0.02).find(known(rows), ROUND)
    assert found.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert Bipartition(threshold=-0.999).find(known(rows), ROUND).flocks == 1


def test_the_threshold_falls_with_time():
    grouping = Bipartition(threshold=0.1, decay=1.0)
    rows = np.array([[1.0, 0.0], [0.05, 1.0]])
    assert grouping.find(known(rows), ROUND).flocks == 2
    late = grouping.find(known(rows), LATE)
    assert late.flocks == 1 and late.facts["alpha_threshold"] == pytest.approx(0.01)


def test_the_stationarity_gate_looks_at_the_norm_of_the_mean_not_at_the_mean_of_norms():
    opposite = np.array([[5.0, 0.1], [5.0, 0.0], [-5.0, 0.1], [-5.0, 0.0]])
    assert Bipartition(eps1=0.4, eps2=1.6).find(known(opposite), ROUND).flocks == 2
    assert Bipartition(eps1=0.4, eps2=6.0).find(known(opposite), ROUND).flocks == 1
    moving = opposite + np.array([0.0, 3.0])
    assert Bipartition(threshold=0.5, eps1=0.4, eps2=1.6).find(known(moving), ROUND).flocks == 1


def test_flocks_asked_for_by_number_stand_however_mixed():
    rows = np.random.default_rng(4).normal(size=(30, 2)) * np.linspace(0.1, 9.0, 30)[:, None]
    grouping = Clustered(
        SIMILARITIES["l2"], lambda away, seed: agglomerative(away, "single", flocks=2), "distance"
    )
    found = grouping.find(known(rows.astype(np.float32)), ROUND)
    assert found.facts["separation"] < 0 and found.flocks == 2


def test_a_bipartition_goes_by_the_similarity_it_is_given():
    rows, truth = flocks_of_updates([4, 4])
    near = SIMILARITIES["l2"]
    square = as_kind(known(rows).compare(near), near, "similarity", 2.0)
    found = Bipartition(threshold=1.0, measure=near, power=2.0).find(known(rows), ROUND)
    assert np.allclose(found.square, square)
    assert found.labels.tolist() == truth.tolist()
