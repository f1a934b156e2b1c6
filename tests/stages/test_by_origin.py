from ipaddress import ip_address

import numpy as np
import pytest

from flockwise.messages import Replies, Reply
from flockwise.stages import Known
from flockwise.stages.by_origin import (
    _GROUPS,
    _ORIGINS,
    FEATURES,
    ByFeature,
    LatestOrigins,
    OneModelByBoundaries,
    describe_groups,
)
from tests.stages.states import a_round, after, batch, state

ROUND = a_round(state([0]))


def reports(visible, groups=4, each=5, seed=0):
    """(clients, 3) features; the group shows in one, the others are drawn without structure."""
    rng = np.random.default_rng(seed)
    member = np.tile(np.arange(groups), each)
    count = len(member)
    features = np.column_stack(
        [rng.uniform(0, 2**24, count), rng.uniform(0, 24, count), rng.uniform(0, 100_000, count)]
    )
    scale = {"geo": 2**22, "time": 6.0, "user": 25_000.0}[visible]
    features[:, FEATURES.index(visible)] = (member + rng.uniform(0.4, 0.6, count)) * scale
    return features, member


def known(features):
    return Known(np.arange(len(features)), lambda: features)


@pytest.mark.parametrize("visible", FEATURES)
def test_the_feature_that_shows_the_groups_is_found(visible):
    features, member = reports(visible)
    found = ByFeature().find(known(features), ROUND)
    assert FEATURES[int(found.facts["feature"])] == visible
    assert found.labels.tolist() == member.tolist()


def test_boundaries_lie_between_the_groups_and_place_a_newcomer():
    features, member = reports("time")
    found = ByFeature().find(known(features), ROUND)
    before = found.remember(state([0] * 21, models=4))
    edges = _GROUPS.get(before).edges
    hours = features[:, 1]
    for edge, group in zip(edges, range(3), strict=True):
        assert hours[member <= group].max() < edge < hours[member > group].min()
    late = np.array([[np.nan, 15.0, np.nan]])
    after = OneModelByBoundaries().relabel(before, batch([20], np.zeros((1, 3)), origins=late), [(0,)])
    assert after[20] == 2


def test_boundaries_are_readable():
    addresses = np.array([float(int(ip_address("10.64.0.0"))), float(int(ip_address("10.128.0.0")))])
    assert describe_groups(0, addresses)[1] == "geo 10.64.0.0 to 10.128.0.0"
    assert describe_groups(1, np.array([6.0]))[0] == "time … to 6.00 h"
    assert describe_groups(2, np.array([20_000.0]))[1] == "user 2e+04 to …"


def test_a_few_clients_that_hide_the_feature_cannot_veto_it():
    features, member = reports("geo")
    features[[3, 8]] = np.nan
    found = ByFeature().find(known(features), ROUND)
    assert FEATURES[int(found.facts["feature"])] == "geo"
    assert 3 not in found.clients and 8 not in found.clients
    assert found.labels.tolist() == np.delete(member, [3, 8]).tolist()


def test_no_feature_at_all_means_one_group():
    assert ByFeature().find(known(np.full((6, 3), np.nan)), ROUND).flocks == 1
    assert ByFeature().find(known(np.ones((6, 3))), ROUND).flocks == 1


def test_the_newest_report_of_a_client_counts():
    newest = LatestOrigins()
    first = after(newest.remember, a_round(state([0] * 3), batch([1], np.zeros((1, 3)), origins=[[1, 2, 3]])))
    second = after(newest.remember, a_round(first.state, batch([1], np.zeros((1, 3)), origins=[[4, 5, 6]])))
    assert _ORIGINS.get(second.state).features[1].tolist() == [4, 5, 6]
    assert newest.known(second).clients.tolist() == [1]


@pytest.mark.parametrize(
    "address, expected",
    [
        ("10.0.0.1", 10 * 2**24 + 1),
        ("::1", 1),
        ("48.1,11.6", 11.6),
        ("no address", np.nan),
        (None, np.nan),
        ("a,b", np.nan),
        (b"\x00", np.nan),
    ],
)
def test_any_address_becomes_a_number_or_unknown(address, expected):
    reply = Reply(0, 1, np.zeros(2, np.float32), 5, address=address, hour="noon", user=None)
    np.testing.assert_array_equal(Replies.stack(1, [reply], 2).origins, [[expected, np.nan, np.nan]])


@pytest.mark.parametrize("visible", FEATURES)
def test_neat_groups_do_not_count_if_the_updates_do_not_follow_them(visible):
    member = np.tile(np.arange(4), 5)
    rng = np.random.default_rng(2)
    shown = {name: member if name == visible else rng.permutation(member) for name in FEATURES}
    features = np.column_stack([shown["geo"] * 2.0**20, shown["time"] * 6.0 + 1, shown["user"] * 20_000.0])
    features += rng.uniform(0, 0.5, features.shape)
    directions = np.eye(4)[member] + 0.1 * rng.normal(size=(20, 4))
    found = ByFeature().find(known(np.concatenate([features, directions], axis=1)), ROUND)
    assert FEATURES[int(found.facts["feature"])] == visible
    assert found.labels.tolist() == member.tolist()
