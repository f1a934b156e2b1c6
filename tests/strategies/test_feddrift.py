"""FedDrift: flocks that part and merge by nothing but losses."""

import numpy as np
import pytest
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.messages import Scores
from flockwise.stages.reconsider import loss_distances, loss_matrix, reconsider
from flockwise.stages.stage import Admitted, Round
from flockwise.stages.state import State
from flockwise.stages.timing import Every

TURNED = {"name": "rotation", "clients": 12, "groups": 2}
SOON = {"name": "feddrift", "every": 3}


def state_of(labels, flocks):
    models = np.arange(flocks, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
    return State(0, models, np.array(labels), np.zeros(len(labels), dtype=np.int8))


def after(state, losses, drift=0.5, merge=0.5):
    """The state after all clients have said what they lose with each model."""
    steps = reconsider(Every(), drift, merge).run(Round(state))
    plan = next(steps)
    assert [task.client for task in plan.tasks] == list(range(len(losses)))
    scores = [Scores(c, 1, (0.5,) * len(row), 9, tuple(row)) for c, row in enumerate(losses)]
    try:
        steps.send(Admitted(scores))
    except StopIteration as done:
        return done.value.state
    raise AssertionError("one question is enough")


def by_the_authors(acc):
    """Their distance 'A', from accuracies, written as their loop has it."""
    count = len(acc)
    away = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            away[i][j] = max(acc[i][i] - acc[i][j], acc[j][j] - acc[j][i], 0)
    return away


def test_distances_are_the_authors_with_losses_for_accuracies():
    losses = np.random.Generator(np.random.Philox(2)).uniform(size=(5, 5))
    np.testing.assert_allclose(loss_distances(losses), by_the_authors(-losses))


def test_clients_go_where_they_lose_least_and_alike_flocks_merge():
    low, high = 0.1, 3.0
    state = after(state_of([0, 1, 2], 3), [[low, high, 0.2], [high, low, high], [0.2, high, low]])
    assert state.labels.tolist() == [0, 1, 0], "0 and 2 do nearly as well for each other"
    assert state.models[0].tolist() == [1.0, 1.0], "the mean of models 0 and 2"
    moved = after(state_of([0, 0, 1, 1], 2), [[low, high], [high, low], [high, low], [high, low]])
    assert moved.labels.tolist() == [0, 1, 1, 1]


def test_who_does_worse_than_before_with_all_models_goes_on_alone_and_comes_back():
    low, high = 0.1, 3.0
    state = after(state_of([0, 0, 0], 1), [[low], [low], [low]])
    assert state.labels.tolist() == [0, 0, 0]
    state = after(state, [[low], [low], [high]])
    assert state.labels.tolist() == [0, 0, 1] and state.models[1].tolist() == state.models[0].tolist()
    apart = after(state, [[low, high], [low, high], [high, low]])
    assert apart.labels.tolist() == [0, 0, 1], "of another kind now"
    back = after(state, [[low, low], [low, low], [low, low]])
    assert len(set(back.labels.tolist())) == 1, "it was nothing: merged again"


def test_a_client_without_data_or_with_wild_losses_moves_nobody_else():
    low, high, nan = 0.1, 3.0, float("nan")
    state = after(
        state_of([0, 0, 0, 1, 1, 1], 2), [[low, high]] * 2 + [[nan, nan]] + [[high, low]] * 2 + [[1e30, low]]
    )
    assert state.labels.tolist() == [0, 0, 0, 1, 1, 1]
    assert loss_matrix(2, [Scores(1, 1, (0.1,), 3, (float("inf"),))], 1).tolist()[1] != [0.0]


@pytest.mark.parametrize("seed", [1, 2])
def test_kinds_are_found_from_single_clients_up(seed):
    game = play(rounds=10, seed=seed, strategy=SOON)
    assert game.ari == 1.0 and game.mean_accuracy > 0.85
    flocks = [record.facts["flocks"] for record in game.records]
    assert flocks[:2] == [12.0, 12.0] and flocks[2] <= 5.0


def test_clients_that_drift_are_followed():
    faults = {"drift_clients": 3, "drift_round": 7}
    game = play(rounds=13, split=TURNED, strategy=SOON, faults=faults)
    later = game.parts.work.later.groups
    assert flockwise.metrics.adjusted_rand(game.labels, later) == 1.0 and (later != game.truth).sum() == 3
    stuck = play(rounds=13, split=TURNED, strategy={"name": "pacfl"}, faults=faults)
    assert game.mean_accuracy > stuck.mean_accuracy + 0.05


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    content = {**BASE, "rounds": 6, "strategy": {"name": "feddrift", "every": 2}, "checkpoint": {"every": 1}}
    whole = flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, False, True])
    flockwise.run(content, out=tmp_path / "run", stop=lambda: next(answers))
    again = flockwise.resume(tmp_path / "run")
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []


@pytest.mark.parametrize("size", [1.7e308, 1e300])
def test_losses_beyond_reckoning_count_as_not_told(size):
    """Two liars of a flock of three made differences of its losses infinite, which ended the run."""
    losses = [[0.1, 2.0], [-size, size], [-size, size], [2.0, 0.1], [2.0, 0.1]]
    done = after(state_of([0, 0, 0, 1, 1], 2), losses)
    assert done.labels.tolist() == [0, 0, 0, 1, 1]
