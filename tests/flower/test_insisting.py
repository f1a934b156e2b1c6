"""With quorum=1.0 a node that dies and comes back costs time, and not its reply."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from flwr.app import Error, Message

from flockwise.flower import Flocks
from flockwise.flower.exchange import Exchange
from flockwise.store import open_run

from . import client_apps as apps
from .fake_grid import FakeGrid, FakeNode

GONE, RAISED = 5, 2


class Returning(FakeGrid):
    """Nodes that are away come back when the clock says so."""

    def __post_init__(self):
        super().__post_init__()
        self.back = {}

    def get_nodes(self):
        for node in self.nodes:
            if not node.online and self.now >= self.back.get(node.node_id, 0.0):
                node.online = True
        return super().get_nodes()


@pytest.fixture(autouse=True)
def fast_clock(monkeypatch):
    original = Exchange.__init__
    monkeypatch.setattr(
        Exchange, "__init__", lambda self, grid: original(self, grid, clock=grid.clock, sleep=grid.sleep)
    )


def grid_of(clients=4):
    return Returning([FakeNode(p, apps.numpy_app, name=f"site-{p}") for p in range(clients)])


def start(grid, path, rounds=4, **choices):
    flocks = Flocks("flic", clients=4, run=path, warmup=2, evaluate_every=0, **{"quorum": 1.0, **choices})
    return flocks.start(grid, apps.numpy_start(), num_rounds=rounds, timeout=600)


def dies_in(grid, node, round, times=1, code=GONE, away=70.0):
    """The node dies with its message of this round; the SuperLink tells of it, and it comes back later."""
    deaths = []

    def fault(message, reply):
        if message.metadata.group_id != str(round) or len(deaths) >= times:
            return [reply]
        deaths.append(grid.now)
        if code == GONE:
            grid.nodes[node].online, grid.back[grid.nodes[node].node_id] = False, grid.now + away
        return [Message(Error(code=code, reason="Node Unavailable"), reply_to=message)]

    grid.nodes[node].fault = fault
    return deaths


def same(one, other):
    for name, array in one.checkpoint().items():
        np.testing.assert_array_equal(array, other.checkpoint()[name], err_msg=name)


@pytest.mark.parametrize("round", [1, 2, 3, 4])
@pytest.mark.parametrize("times", [1, 3])
def test_a_node_that_dies_with_its_message_is_asked_again_to_the_same_bits(round, times, tmp_path):
    start(grid_of(), tmp_path / "whole")
    grid = grid_of()
    deaths = dies_in(grid, 1, round, times)
    start(grid, tmp_path / "killed")
    whole, killed = open_run(tmp_path / "whole"), open_run(tmp_path / "killed")
    same(whole, killed)
    assert len(deaths) == times and killed.facts["participants"].tolist() == [4.0] * 4
    assert [event.kind for event in killed.events].count("asked again") == times


def test_a_node_that_is_away_between_rounds_is_waited_for(tmp_path):
    start(grid_of(), tmp_path / "whole")
    grid = grid_of()

    def leaves(message, reply):
        if message.metadata.group_id == "2" and grid.now < 1000:
            grid.nodes[3].online, grid.back[grid.nodes[3].node_id] = False, grid.now + 90
        return [reply]

    grid.nodes[3].fault = leaves
    start(grid, tmp_path / "away")
    same(open_run(tmp_path / "whole"), open_run(tmp_path / "away"))


def test_a_client_that_fails_by_itself_is_not_asked_again(tmp_path):
    grid = grid_of()
    deaths = dies_in(grid, 1, 2, times=9, code=RAISED)
    start(grid, tmp_path / "run")
    assert len(deaths) == 1 and open_run(tmp_path / "run").facts["participants"].tolist() == [4, 3, 4, 4]


def test_who_never_comes_back_costs_one_wait_and_then_few(tmp_path):
    grid = grid_of()
    dies_in(grid, 1, 2, away=1e9)
    start(grid, tmp_path / "run", rounds=8)
    record = open_run(tmp_path / "run")
    assert record.state == "finished" and record.facts["participants"].tolist() == [4, *[3] * 7]
    assert grid.now < 4 * 600  # of 7 rounds


def test_a_node_that_dies_again_and_again_is_given_up(tmp_path):
    grid = grid_of()
    deaths = dies_in(grid, 1, 2, times=99, away=1.0)
    start(grid, tmp_path / "run")
    assert len(deaths) == 5 and open_run(tmp_path / "run").facts["participants"].tolist() == [4, 3, 4, 4]


def test_without_it_a_dead_node_costs_its_reply(tmp_path):
    grid = grid_of()
    dies_in(grid, 1, 2, away=5.0)
    start(grid, tmp_path / "run", quorum=0.5)
    assert open_run(tmp_path / "run").facts["participants"][1] == 3
