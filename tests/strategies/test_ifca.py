"""IFCA: clients sort themselves by their training loss."""

import numpy as np
from tests.strategies.playing import play

from flockwise.messages import is_root
from flockwise.stages.restarts import _TRIED

TURNED = {"name": "rotation", "clients": 12, "groups": 2}


def test_clients_sort_themselves_into_the_right_flocks():
    game = play(rounds=8, split=TURNED, strategy={"name": "ifca", "flocks": 2})
    assert game.ari == 1.0 and game.mean_accuracy > 0.8


def test_the_set_of_beginnings_with_the_lowest_loss_goes_on():
    game = play(rounds=10, split=TURNED, strategy={"name": "ifca", "flocks": 2, "restarts": 3, "probe": 2})
    tried = _TRIED.get(game.server.state)
    best = tried.best
    assert best == int(np.argmin(tried.losses))
    assert set(game.labels.tolist()) <= {2 * best, 2 * best + 1}


def test_a_warm_start_trains_one_model_first():
    game = play(rounds=8, split=TURNED, strategy={"name": "ifca", "flocks": 2, "warm_start": 3})
    assert [int(record.facts["flocks"]) for record in game.records[:3]] == [1, 1, 1]
    assert game.mean_accuracy > 0.7


def test_the_servers_own_data_trains_each_of_the_models():
    game = play(rounds=3, strategy={"name": "ifca"}, aggregation={"name": "fltrust"}, root={"samples": 50})
    asked = [task for task in game.server.ask().tasks if is_root(task.client)]
    assert [task.models for task in asked] == [(0,), (1,)]
