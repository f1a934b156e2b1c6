import ipaddress
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.data import PARTS, load
from flockwise.splits import noniid_degree


def test_clients_and_labels_are_those_of_the_papers_table() -> None:
    federation = noniid_degree(load("digits"))
    assert federation.groups is not None
    members = [(np.flatnonzero(federation.groups == group) + 1).tolist() for group in range(5)]
    assert members == [[1, 6, 11, 16, 19], [2, 7, 12, 17, 20], [3, 8, 13, 18], [4, 9, 14], [5, 10, 15]]
    for group, labels in enumerate([{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 0}]):
        for part in PARTS:
            counts = federation.label_counts(part)[federation.groups == group].sum(axis=0)
            assert set(np.flatnonzero(counts).tolist()) == labels


@pytest.mark.parametrize("degree", [0.0, 0.5, 0.75])
def test_the_share_of_own_labels_is_the_degree_plus_their_part_of_the_rest(degree: float) -> None:
    federation = noniid_degree(load("digits"), degree=degree, validation=0)
    assert federation.groups is not None
    counts = federation.label_counts()
    for client, group in enumerate(federation.groups):
        own = counts[client, [(2 * group + 1) % 10, (2 * group + 2) % 10]].sum() / counts[client].sum()
        assert own == pytest.approx(degree + (1 - degree) / 5, abs=0.05)


@given(seed=st.integers(0, 10**6), groups=st.integers(2, 8))
@settings(max_examples=30, deadline=None)
def test_where_visible_the_ranges_of_groups_do_not_overlap(seed: int, groups: int) -> None:
    options = {"clients": 40, "groups": groups, "group_sizes": None, "seed": seed, "test": 0, "samples": 5}
    reads = {
        "geo": lambda shard: int(ipaddress.IPv4Address(shard.address)),
        "time": lambda shard: shard.hour,
        "user": lambda shard: shard.user,
    }
    for visible, read in reads.items():
        federation = noniid_degree(load("digits"), visible=visible, **options)
        values = [[read(s) for s in federation.shards if s.group == group] for group in range(groups)]
        assert all(max(low) < min(high) for low, high in itertools.pairwise(values))


def test_where_not_visible_a_feature_says_nothing_of_the_group() -> None:
    shards = noniid_degree(load("digits"), clients=200, groups=2, samples=5, test=0, visible="geo").shards
    for read in (lambda shard: shard.hour, lambda shard: shard.user):
        values = [[read(shard) for shard in shards if shard.group == group] for group in range(2)]
        assert max(values[0]) > min(values[1]) and max(values[1]) > min(values[0])
        assert abs(np.median(values[0]) - np.median(values[1])) < 0.75 * max(max(values[0]), max(values[1]))
        halves = [np.mean(np.array(part) > np.max(values) / 2) for part in values]
        assert all(0.3 < half < 0.7 for half in halves)


def test_addresses_and_users_are_unique_and_private() -> None:
    shards = noniid_degree(load("digits"), clients=100, samples=5, test=0).shards
    assert len({shard.address for shard in shards}) == len({shard.user for shard in shards}) == 100
    assert all(ipaddress.IPv4Address(shard.address).is_private for shard in shards)
    assert all(shard.hour is not None and 0 <= shard.hour < 24 for shard in shards)


def test_with_replacement_clients_share_training_samples_but_parts_stay_apart() -> None:
    federation = noniid_degree(load("digits"), samples=120, replacement=True)
    assert federation.sizes("train").tolist() == [108] * 20
    assert federation.sizes("validation").tolist() == [12] * 20
    parts = {part: np.concatenate([getattr(shard, part) for shard in federation.shards]) for part in PARTS}
    assert len(np.unique(parts["train"])) < len(parts["train"])
    assert len(np.unique(parts["test"])) == len(parts["test"])
    assert not np.intersect1d(parts["train"], parts["validation"]).size
    assert (
        parts["test"].min() >= federation.dataset.train > max(parts["train"].max(), parts["validation"].max())
    )
    for shard in federation.shards:
        assert len(np.unique(shard.train)) == len(shard.train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degree": 1.5}, "degree = 1.5"),
        ({"groups": 21}, "groups = 21: must be 1 to 20"),
        ({"groups": 11}, "groups = 11: must be at most 10"),
        ({"visible": "shoe size"}, "visible = 'shoe size': must be one of geo, time, user"),
        ({"group_sizes": [20]}, r"group_sizes = \[20\]: must be 5 numbers"),
        ({"group_sizes": [20, 0, 0, 0, 0]}, "group_sizes"),
        ({"samples": 70}, "samples = 70 on average: must be at most"),
        ({"replacement": True}, "replacement = True: needs samples"),
    ],
)
def test_impossible_requests_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        noniid_degree(load("digits"), **options)
