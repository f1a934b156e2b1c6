"""Clients as recipes: made when they are asked for, the same every time, and more of them than there are samples."""

import time
import tracemalloc

import numpy as np
import pytest

from flockwise.data import PARTS, Federation, check_data, digits
from flockwise.data.fingerprint import fingerprint_of_all
from flockwise.data.recipes import Recipes
from flockwise.data.scenario import drifted, set_root_aside
from flockwise.errors import InputError
from flockwise.splits import feature_shift, iid, kinds, label_swap, quantity, rotation

SHARING = (iid, label_swap, rotation, feature_shift, kinds)


def many(clients: int = 30_000, **options: object) -> Federation:
    return kinds(digits(), clients=clients, swaps=5, turns=4, samples=20, shared=True, **options)


@pytest.mark.parametrize("split", [*SHARING, quantity], ids=lambda split: split.name)
def test_sizes_and_groups_are_known_without_making_anybody(split) -> None:
    federation = split(digits(), clients=50)
    listed = Federation(federation.dataset, tuple(federation.shards))
    assert isinstance(federation.shards, Recipes) and not isinstance(listed.shards, Recipes)
    for part in PARTS:
        assert federation.sizes(part).tolist() == listed.sizes(part).tolist()
    assert federation.groups.tolist() == listed.groups.tolist()
    assert federation.names == listed.names
    assert (federation.label_counts() == listed.label_counts()).all()


@pytest.mark.parametrize("split", SHARING, ids=lambda split: split.name)
def test_clients_that_share_hold_what_was_asked_for_and_nothing_twice(split) -> None:
    federation = split(digits(), clients=5000, samples=40, test=7, validation=0.2, shared=True)
    assert federation.is_shared and federation.sizes().sum() > federation.dataset.samples
    for client in (0, 1, 4999):
        shard = federation.shards[client]
        assert [len(shard.train), len(shard.validation), len(shard.test)] == [32, 8, 7]
        together = np.concatenate([shard.train, shard.validation, shard.test])
        assert len(np.unique(together)) == len(together)
        assert (shard.test >= federation.dataset.train).all()
        assert shard.train.tolist() == federation.shards[client].train.tolist()
    assert federation.shards[0].train.tolist() != federation.shards[20].train.tolist()


def test_nobody_trains_on_what_another_client_validates_on() -> None:
    federation = many(2000)
    trained = np.unique(np.concatenate([shard.train for shard in federation.shards]))
    judged = np.unique(np.concatenate([shard.validation for shard in federation.shards]))
    assert not len(np.intersect1d(trained, judged))


def test_a_million_clients_are_there_at_once_and_take_little_memory() -> None:
    data = digits()
    tracemalloc.start()
    started = time.process_time()
    federation = kinds(data, clients=1_000_000, swaps=5, turns=4, samples=50, shared=True)
    assert federation.groups.max() == 19 and federation.sizes().sum() == 45_000_000
    assert len(federation.shards[999_999].train) == 45
    assert time.process_time() - started < 5
    assert tracemalloc.get_traced_memory()[1] < 150_000_000
    tracemalloc.stop()


def test_the_server_can_have_data_that_nobody_who_shares_trains_on() -> None:
    federation, root = set_root_aside(many(500), 100, seed=3)
    assert root is not None and len(root.train) == 100
    for client in range(0, 500, 50):
        assert not len(np.intersect1d(federation.shards[client].train, root.train))
    assert (federation.sizes() == 18).all()


def test_drifting_clients_become_of_the_next_kind_and_keep_their_samples() -> None:
    before = many(200)
    after = drifted(before, 10, seed=0)
    moved = np.flatnonzero(before.groups != after.groups)
    assert len(moved) == 10 and ((before.groups[moved] + 1) % 20 == after.groups[moved]).all()
    old, new = before.shards[int(moved[0])], after.shards[int(moved[0])]
    assert old.train.tolist() == new.train.tolist() and new.group == after.groups[moved[0]]


def test_of_very_many_clients_a_sample_is_looked_at_and_that_is_said() -> None:
    found = check_data(many(300), most=50)
    assert len(found.names) == len(found.classes) == 50
    assert found.findings[0].kind == "sample" or any(each.kind == "sample" for each in found.findings)
    assert "50 of 300 clients" in next(each.message for each in found.findings if each.kind == "sample")


def test_another_seed_or_other_samples_are_other_data() -> None:
    marks = {fingerprint_of_all(many(seed=seed, test=test)) for seed in (0, 1) for test in (3, 4)}
    assert len(marks) == 4 and fingerprint_of_all(many(test=3)) in marks


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": None}, "samples = none: must be given where samples are shared"),
        ({"samples": 5000}, "samples = 5000: gives a client 5000; must be at most"),
        ({"samples": 20, "test": 1000}, "test = 1000: must be 0 to 360"),
        ({"samples": 20, "validation": 1.0}, "validation = 1.0: must be 0 to below 1"),
    ],
)
def test_what_cannot_be_shared_is_refused_in_a_line(options: dict, words: str) -> None:
    with pytest.raises(InputError) as refused:
        iid(digits(), clients=100, shared=True, **options)
    assert str(refused.value).startswith(words)
