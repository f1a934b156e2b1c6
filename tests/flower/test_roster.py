"""A client is its key, not its node."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flockwise.errors import EngineError, InputError
from flockwise.flower.roster import Roster

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode


def grid_of(*nodes):
    return FakeGrid(list(nodes))


def node(number, **fields):
    return FakeNode(number, apps.numpy_app, **fields)


def kinds(events):
    return [
        (event.kind, event.client, event.detail.get("reason")) for event in events if event.kind != "joined"
    ]


def test_numbers_follow_names_whatever_the_node_ids():
    grid = grid_of(
        node(0, name="site-10", node_id=5),
        node(1, name="site-9", node_id=9),
        node(2, name="site-1", node_id=7),
    )
    roster = Roster(3)
    roster.refresh(grid)
    assert [member.name for member in roster.members] == ["site-1", "site-9", "site-10"]
    assert roster.nodes == {0: 7, 1: 9, 2: 5}


def test_a_restarted_node_with_the_same_key_is_the_same_client():
    first, second = node(0), node(1)
    grid, roster = grid_of(first, second), Roster(2)
    roster.refresh(grid)
    client = next(c for c, n in roster.nodes.items() if n == second.node_id)
    second.online = False
    assert kinds(roster.refresh(grid)) == [("left", client, None)]
    grid.nodes.append(node(1, node_id=4242))
    assert kinds(roster.refresh(grid)) == [("returned", client, None)]
    assert roster.nodes[client] == 4242 and len(roster.members) == 2


def test_a_second_node_with_a_known_key_is_refused_and_told_once():
    original, twin = node(0), node(1, key=b"public key 0", node_id=1)
    grid, roster = grid_of(original), Roster(3)
    roster.refresh(grid)
    grid.nodes.append(twin)
    assert kinds(roster.refresh(grid)) == [("refused", None, "twin")]
    assert kinds(roster.refresh(grid)) == []
    assert roster.nodes == {0: original.node_id} and len(roster.members) == 1


def test_a_node_that_changes_its_key_is_refused():
    changing, other = node(0), node(1)
    grid, roster = grid_of(changing, other), Roster(3)
    roster.refresh(grid)
    changing.key = b"another key"
    assert ("refused", None, "changed") in kinds(roster.refresh(grid))
    assert changing.node_id not in roster.nodes.values() and len(roster.members) == 2


def test_newcomers_are_refused_when_all_places_are_taken():
    grid, roster = grid_of(node(0), node(1)), Roster(2)
    roster.refresh(grid)
    grid.nodes.append(node(2))
    assert kinds(roster.refresh(grid)) == [("refused", None, "full")]
    assert len(roster.members) == 2


def test_numbers_outlive_the_process():
    grid = grid_of(node(0, name="b", location="1,2"), node(1, name="a"))
    roster = Roster(3)
    roster.refresh(grid)
    again = Roster(3)
    again.restore(roster.to_json())
    grid.nodes.append(node(2, name="0"))
    again.refresh(grid)
    assert [member.name for member in again.members] == ["a", "b", "0"]
    assert again.members[1].location == "1,2"


def test_waiting_for_clients_ends():
    grid = grid_of(node(0))
    with pytest.raises(EngineError, match="only 1 of 2"):
        Roster(2).wait(grid, 2, 5.0, grid.clock, grid.sleep)


def test_strangers_are_not_waited_for_as_if_they_were_clients():
    roster = Roster(1)
    roster.refresh(grid_of(node(0)))
    strangers = grid_of(node(1), node(2))
    with pytest.raises(EngineError, match="only 0 of 1 clients came within 5 s; 2 nodes have keys"):
        roster.wait(strangers, 1, 5.0, strangers.clock, strangers.sleep)


def test_an_identity_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="identity = 'keys': must be one of auto, key, partition"):
        Roster(1, "keys")


def test_keys_can_be_insisted_on():
    keyless = node(0)
    keyless.key = b""
    with pytest.raises(EngineError, match="--enable-supernode-auth"):
        Roster(1, "key").refresh(grid_of(keyless))


def test_a_number_in_the_registered_name_is_the_user():
    roster = Roster(2)
    roster.refresh(grid_of(node(0, name="hospital-12"), node(1, name="clinic")))
    assert [member.user for member in roster.members] == [None, 12]
