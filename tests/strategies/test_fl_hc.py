"""FL+HC: the right flocks with every metric and linkage of the paper, no scale to be known."""

import functools

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.errors import ConfigError

CELLS = [(m, k) for m in ("l1", "l2", "cosine") for k in ("average", "complete", "single")] + [("l2", "ward")]
SWAP = {"name": "label_swap", "clients": 12, "groups": 3}
ROTATION = {"name": "rotation", "clients": 12, "groups": 4}
IID = {"name": "iid", "clients": 12}
SPLITS = {split["name"]: split for split in (SWAP, ROTATION, IID)}


@functools.cache
def five_rounds(split_name):
    """FedAvg before the census is the same whatever the metric and linkage: train it once for each split."""
    return play(rounds=5, split=SPLITS[split_name], strategy={"name": "fedavg"}).server.state


def found(split, metric, linkage, **more):
    options = {"name": "fl-hc", "rounds_before": 5, "metric": metric, "linkage": linkage, **more}
    return play(five_rounds(split["name"]), rounds=6, split=split, strategy=options)


@pytest.mark.parametrize("metric, linkage", CELLS)
@pytest.mark.parametrize("split", [SWAP, ROTATION], ids=["swap", "rotation"])
def test_auto_finds_the_right_flocks(split, metric, linkage):
    game = found(split, metric, linkage)
    assert game.ari == 1.0
    assert [round for round, _ in game.events("flocks")] == [6]


@pytest.mark.parametrize("metric, linkage", CELLS)
def test_nothing_is_split_on_iid_data(metric, linkage):
    assert found(IID, metric, linkage).server.state.flocks == 1


def test_flocks_do_better_than_one_model_for_all():
    alone = play(rounds=10, strategy={"name": "fedavg"}).mean_accuracy
    flocks = play(rounds=10, strategy={"name": "fl-hc", "rounds_before": 5}).mean_accuracy
    assert flocks > alone + 0.1


def test_everyone_trains_in_the_census_and_a_fraction_of_each_flock_after_it():
    game = play(rounds=8, strategy={"name": "fl-hc", "rounds_before": 5}, sampling={"fraction": 0.5})
    assert [int(r.facts["participants"]) for r in game.records] == [6, 6, 6, 6, 6, 12, 6, 6]
    trained = game.records[-1].arrays["trained"]
    assert np.bincount(game.labels[trained]).tolist() == [2, 2, 2]


def test_clusters_start_from_the_joint_model_of_before_the_census():
    game = found(SWAP, "l1", "complete")
    first = play(rounds=5, strategy={"name": "fl-hc", "rounds_before": 5})
    joint = first.server.state.models[0].tobytes()
    assert {model.tobytes() for model in game.server.state.models} == {joint}


def test_a_number_cuts_the_dendrogram_there_and_a_higher_one_gives_fewer_flocks():
    flocks = [found(SWAP, "l2", "ward", threshold=t).server.state.flocks for t in (0.01, 1.0, 1000.0)]
    assert flocks[0] == 12 and flocks[2] == 1
    assert flocks[0] >= flocks[1] >= flocks[2]


def test_clustering_again_every_few_rounds_keeps_the_flocks():
    game = play(rounds=12, strategy={"name": "fl-hc", "rounds_before": 4, "repeat": 3})
    looked = [r.round for r in game.records if "separation" in r.facts]
    assert looked == [5, 8, 11]
    assert game.ari == 1.0 and game.mean_accuracy > 0.85


def test_the_dendrogram_is_on_record():
    record = found(SWAP, "l1", "complete").records[0]
    assert record.arrays["dendrogram"].shape == (11, 4)


@pytest.mark.parametrize("threshold", [-1.0, float("nan"), float("inf"), "automatic"])
def test_a_threshold_that_is_no_distance_is_refused_before_training(threshold):
    with pytest.raises(ConfigError, match=r"strategy\.threshold"):
        play(rounds=1, strategy={"name": "fl-hc", "threshold": threshold})


@pytest.mark.parametrize("metric", ["l1", "cosine"])
def test_wards_linkage_wants_euclidean_distances(metric):
    with pytest.raises(ConfigError, match=r"strategy.metric = .*choose metric 'l2'"):
        play(rounds=1, strategy={"name": "fl-hc", "metric": metric, "linkage": "ward"})


def test_a_number_of_flocks_replaces_the_threshold():
    assert [found(SWAP, "l2", "ward", flocks=n).server.state.flocks for n in (1, 3)] == [1, 3]
    with pytest.raises(ConfigError, match=r"strategy.flocks = 3: cannot go with strategy.threshold"):
        found(SWAP, "l2", "ward", flocks=3, threshold=1.0)
