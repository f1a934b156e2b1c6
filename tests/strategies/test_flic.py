"""FLIC: the right flocks without an all-client round, and wolves told from sheep even in the majority."""

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.errors import ConfigError
from flockwise.stages import UNPLACED

SWAP = {"name": "label_swap", "clients": 12, "groups": 3}
ROTATION = {"name": "rotation", "clients": 12, "groups": 4}
IID = {"name": "iid", "clients": 12}
HALF = {"fraction": 0.5}


@pytest.mark.parametrize("warmup", [10, "auto"])
@pytest.mark.parametrize("split", [SWAP, ROTATION], ids=["swap", "rotation"])
def test_it_finds_the_right_flocks(split, warmup):
    game = play(rounds=16, split=split, strategy={"name": "flic", "warmup": warmup}, sampling=HALF)
    assert game.ari == 1.0
    assert (game.labels != UNPLACED).all()
    assert len(game.events("flocks")) == 1
    assert max(record.facts["participants"] for record in game.records) <= 8, "never an all-client round"


@pytest.mark.parametrize("warmup", [10, "auto"])
def test_nothing_is_split_on_iid_data(warmup):
    game = play(rounds=20, split=IID, strategy={"name": "flic", "warmup": warmup}, sampling=HALF)
    assert game.server.state.flocks == 1


@pytest.mark.parametrize("attackers", [6, 8, 10])
def test_reversing_attackers_and_only_they_are_set_apart(attackers):
    game = play(
        rounds=12, split={"name": "iid", "clients": 20}, attack={"name": "reverse", "clients": attackers},
        strategy={"name": "flic", "warmup": 6, "judge": "validation", "rollback": True},
    )  # fmt: skip
    assert len(game.attackers) == attackers
    assert game.apart == game.attackers
    assert game.mean_accuracy > 0.75


@pytest.mark.parametrize("judge, right", [("largest", False), ("root", True), ("validation", True)])
def test_judges_when_wolves_are_the_majority(judge, right):
    """Those who look at accuracy name exactly the wolves, and leave a majority to a person; the honest learn on."""
    game = play(
        rounds=12, split={"name": "iid", "clients": 20}, attack={"name": "reverse", "clients": 12},
        strategy={"name": "flic", "warmup": 6, "judge": judge, "rollback": True}, root={"samples": 60},
    )  # fmt: skip
    alarms = [set(event.detail["clients"]) for _, event in game.events("alarm")]
    assert (game.attackers in alarms) == right
    assert game.apart == (set() if right else set(range(20)) - game.attackers)
    if right:
        assert game.mean_accuracy > 0.75


def test_the_median_inside_flocks():
    game = play(rounds=16, strategy={"name": "flic"}, sampling=HALF, aggregation={"name": "median"})
    assert game.ari == 1.0 and game.mean_accuracy > 0.85


def test_a_client_never_heard_before_is_placed_when_it_joins():
    game = play(
        rounds=18, strategy={"name": "flic", "warmup": 10, "follow": 0.1},
        faults={"late_clients": 2, "late_round": 14},
    )  # fmt: skip
    placed = game.events("placed")
    assert {event.client for _, event in placed} == set(game.parts.hazards.channel.late)
    assert {round for round, _ in placed} == {14}
    assert game.ari == 1.0


def test_the_diagonal_can_be_kept():
    game = play(rounds=12, strategy={"name": "flic", "warmup": 10, "self_loops": True})
    assert game.ari == 1.0


def test_without_validation_data_clients_choose_a_flock_by_their_training_loss():
    game = play(
        rounds=16, split={**ROTATION, "groups": 2, "validation": 0}, sampling=HALF,
        faults={"late_clients": 4, "late_round": 9}, strategy={"name": "flic", "warmup": 8, "min_separation": 0},
    )  # fmt: skip
    late = np.flatnonzero(game.records[7].arrays["flock"] == UNPLACED)
    assert len(late) == 4
    assert (game.labels != UNPLACED).all() and game.ari == 1.0
    assert {event.client for _, event in game.events("placed")} == set(late.tolist())


@pytest.mark.parametrize("warmup", [0, -5])
def test_a_warmup_that_never_ends_is_refused(warmup):
    with pytest.raises(ConfigError, match=r"strategy\.warmup"):
        play(rounds=1, strategy={"name": "flic", "warmup": warmup})
