from dataclasses import replace

import numpy as np
import pytest

from flockwise.clustering import agglomerative, louvain
from flockwise.similarity import SIMILARITIES
from flockwise.stages import Clustered, SplitInTwo
from flockwise.stages.grouping import as_kind
from tests.stages.states import a_round, flocks_of_updates, known, state

ROUND, LATE = a_round(state([0])), a_round(state([0], round=9))


def clustered(graph, seed):
    return louvain(graph, seed=seed)


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
    for grouping in (SplitInTwo(), Clustered(SIMILARITIES["cosine"], clustered, "similarity")):
        assert grouping.find(known(rows), ROUND).flocks == count


def test_a_bipartition_splits_only_below_its_threshold():
    rows = np.array([[1, 0.1], [1, 0.2], [-1, 0.1], [-1, 0.3]])
    found = SplitInTwo(threshold=0.02).find(known(rows), ROUND)
    assert found.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    assert SplitInTwo(threshold=-0.999).find(known(rows), ROUND).flocks == 1


def test_the_threshold_falls_with_time():
    grouping = SplitInTwo(threshold=0.1, decay=1.0)
    rows = np.array([[1.0, 0.0], [0.05, 1.0]])
    assert grouping.find(known(rows), ROUND).flocks == 2
    late = grouping.find(known(rows), LATE)
    assert late.flocks == 1 and late.facts["alpha_threshold"] == pytest.approx(0.01)


def test_the_stationarity_gate_looks_at_the_norm_of_the_mean_not_at_the_mean_of_norms():
    opposite = np.array([[5.0, 0.1], [5.0, 0.0], [-5.0, 0.1], [-5.0, 0.0]])
    assert SplitInTwo(eps1=0.4, eps2=1.6).find(known(opposite), ROUND).flocks == 2
    assert SplitInTwo(eps1=0.4, eps2=6.0).find(known(opposite), ROUND).flocks == 1
    moving = opposite + np.array([0.0, 3.0])
    assert SplitInTwo(threshold=0.5, eps1=0.4, eps2=1.6).find(known(moving), ROUND).flocks == 1


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
    found = SplitInTwo(threshold=1.0, measure=near, power=2.0).find(known(rows), ROUND)
    assert np.allclose(found.square, square)
    assert found.labels.tolist() == truth.tolist()


def parted(clients, step, noise, seed=0):
    """Similarities of two parts that are `step` further apart than each inside."""
    parts, drawn = np.arange(clients) % 2, np.random.default_rng(seed).standard_normal((clients, clients))
    return 1.2 + step * (parts[:, None] == parts) + noise * (drawn + drawn.T) / np.sqrt(2), parts


@pytest.mark.parametrize(("clients", "splits"), [(60, False), (100, False), (101, True), (300, True)])
def test_parts_of_many_clients_need_not_be_as_far_apart_as_those_of_few(clients, splits):
    grouping = Clustered(SIMILARITIES["one-plus-cosine"], clustered, "similarity", refine=3.0)
    square, parts = parted(clients, 0.25, 0.1)  # 2.5 apart
    assert grouping._real(square, parts, 0.0) is splits
    never = Clustered(SIMILARITIES["one-plus-cosine"], clustered, "similarity", refine=1000.0)
    assert not never._real(square, parts, 0.0)


def test_sketches_do_not_keep_parts_together_that_are_told_apart_exactly():
    grouping = Clustered(SIMILARITIES["one-plus-cosine"], clustered, "similarity", refine=3.0)
    square, parts = parted(
        80, 0.15, 0.057
    )  # 2.6 apart as it is seen; errors of 0.04 of cosines near 0.3 are in that
    assert not grouping._real(square, parts, 0.0)
    assert grouping._real(square, parts, 1 / 512)


def test_of_sketched_clients_a_bipartition_beyond_noise_splits_off_who_turned_and_nobody_who_is_odd_by_chance():
    rng = np.random.default_rng(0)
    honest = 0.5 + rng.standard_normal((40, 60))  # alike by a fifth, with the noise of small clients
    odd = np.concatenate([honest, [rng.standard_normal(60) - 0.2]])
    turned = np.concatenate([honest, -0.8 + rng.standard_normal((10, 60))])
    for rows, splits in ((odd, False), (turned, True)):
        seen = replace(known(rows.astype(np.float32)), sketched=True)
        plain = SplitInTwo(threshold=0.3, cohesion=0.1).find(seen, ROUND)
        assert plain.flocks == 2
        assert (
            SplitInTwo(threshold=0.3, cohesion=0.1, beyond_noise=True).find(seen, ROUND).flocks == 2
        ) is splits
