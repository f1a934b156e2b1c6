"""CFL and its use against Byzantine clients: right splits, right client numbers, only attackers out."""

import pytest
from tests.strategies.playing import play

IID = {"name": "iid", "clients": 20}
SWAP = {"name": "label_swap", "clients": 12, "groups": 3}
ROTATION = {"name": "rotation", "clients": 12, "groups": 4}


@pytest.mark.parametrize("split", [SWAP, ROTATION], ids=["swap", "rotation"])
def test_repeated_splits_end_in_the_right_flocks(split):
    game = play(rounds=10, split=split, strategy={"name": "cfl"})
    assert game.ari == 1.0
    assert len(game.events("split")) == game.server.state.flocks - 1


def test_the_parts_keep_true_client_numbers_at_every_depth():
    game = play(rounds=10, split=ROTATION, strategy={"name": "cfl"})
    truth = game.truth
    for _, event in game.events("split"):
        leaving = event.detail["clients"]
        kinds = {int(truth[client]) for client in leaving}
        assert all((client in leaving) == (int(truth[client]) in kinds) for client in leaving)
    assert len(game.events("split")) == 3


@pytest.mark.parametrize("strategy", ["cfl", "byzantine-cfl"])
def test_nothing_is_split_without_groups_or_attackers(strategy):
    game = play(rounds=10, split=IID, strategy={"name": strategy})
    assert game.server.state.flocks == 1 and not game.apart
    assert min(record.facts["alpha_cross"] for record in game.records) > 0.02


@pytest.mark.parametrize("attack", ["gaussian", "label-to", "noise"])
def test_attackers_and_only_attackers_are_set_apart(attack):
    game = play(
        rounds=12, split=IID, strategy={"name": "byzantine-cfl"}, attack={"name": attack, "clients": 6}
    )
    assert game.attackers and game.apart == game.attackers
    assert game.mean_accuracy > 0.85


def test_gaussian_attackers_leave_one_by_one_because_each_is_alone():
    game = play(
        rounds=12, split=IID, strategy={"name": "byzantine-cfl"}, attack={"name": "gaussian", "clients": 6}
    )
    assert len(game.events("quarantine")) > 2


def test_those_with_a_common_plan_leave_at_once():
    game = play(
        rounds=6, split=IID, strategy={"name": "byzantine-cfl"}, attack={"name": "label-to", "clients": 6}
    )
    assert [len(event.detail["clients"]) for _, event in game.events("quarantine")] == [6]
    assert all("honest minority" in event.message for _, event in game.events("quarantine"))


def test_the_defence_is_worth_having():
    setting = {"rounds": 12, "split": IID, "attack": {"name": "gaussian", "clients": 6}}
    plain = play(**setting, strategy={"name": "fedavg"}).mean_accuracy
    assert play(**setting, strategy={"name": "byzantine-cfl"}).mean_accuracy > plain + 0.1


def test_only_clients_that_took_part_are_compared():
    game = play(rounds=8, split=SWAP, strategy={"name": "cfl"}, sampling={"fraction": 0.6})
    for record in game.records:
        absent = set(range(12)) - set(record.arrays["trained"].nonzero()[0].tolist())
        for event in record.events:
            if event.kind == "split":
                assert not absent & set(event.detail["clients"])


def test_a_gate_that_never_opens_keeps_everyone_together():
    game = play(rounds=9, split=SWAP, strategy={"name": "cfl", "eps1": 1e-6})
    assert game.server.state.flocks == 1


def test_a_falling_threshold_splits_later_or_never():
    steady = play(rounds=10, split=SWAP, strategy={"name": "cfl"})
    falling = play(rounds=10, split=SWAP, strategy={"name": "cfl", "decay": 100.0})
    first = steady.events("split")[0][0]
    later = falling.events("split")
    assert not later or later[0][0] >= first
    assert falling.records[-1].facts["alpha_threshold"] < 0.0001


def test_near_convergence_cohesion_keeps_honest_flocks_together():
    setting = {"rounds": 25, "split": {"name": "label_swap", "clients": 20, "groups": 4}}
    paper = play(**setting, strategy={"name": "cfl", "cohesion": -1.0})
    ours = play(**setting, strategy={"name": "cfl"})
    assert paper.server.state.flocks > ours.server.state.flocks >= 4
    assert ours.ari > 0.9 > paper.ari
