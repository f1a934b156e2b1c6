"""StoCFL and FedClust: what clients make of one model that never changes."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.metrics import adjusted_rand
from flockwise.stages.evidence import Known
from flockwise.stages.merge import merge_alike
from flockwise.stages.stage import Round
from flockwise.stages.state import first_state

PUBLISHED = json.loads((Path(__file__).parent / "published" / "stocfl.json").read_text())
TURNED = {"name": "rotation", "clients": 12, "groups": 2}


class Given:
    """What is known of the clients heard so far."""

    needs = frozenset()

    def __init__(self, rows):
        self.rows, self.heard = rows, set()

    def known(self, round):
        clients = np.array(sorted(self.heard))
        return Known(clients, lambda: self.rows[clients])


def finish(stage, round):
    try:
        next(stage.run(round))
    except StopIteration as done:
        return done.value
    raise AssertionError("it asks clients nothing")


def test_the_same_draws_give_the_flocks_of_the_authors_code():
    rng = np.random.Generator(np.random.Philox(21))
    centres = rng.normal(size=(4, 6))
    psi = (centres[np.arange(16) % 4] + 0.6 * rng.normal(size=(16, 6))).astype(np.float32)
    given, state = Given(psi), first_state(np.zeros((1, 3), np.float32), 16)
    merged = 0
    for record in PUBLISHED["rounds"]:
        given.heard |= set(record["drawn"])
        drawn = np.array(record["drawn"])
        stage = merge_alike(given, PUBLISHED["threshold"], lambda round, drawn=drawn: drawn)
        state = finish(stage, Round(state)).state
        seen = sorted(given.heard)
        theirs = np.array(record["flock"])[seen]
        assert adjusted_rand(state.labels[seen], theirs) == 1.0
        assert len(set(state.labels[seen])) == len(set(theirs.tolist()))
        merged += len(seen) - len(set(theirs.tolist()))
    assert merged > 10


def test_the_larger_flocks_model_goes_on_and_a_newcomer_begins_from_the_mean():
    rows = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], np.float32)
    given, state = Given(rows), first_state(np.zeros((1, 2), np.float32), 4)
    given.heard = {0, 1, 3}
    state = finish(merge_alike(given, 0.5, lambda round: np.array([0, 1, 3])), Round(state)).state
    models = state.models.copy()
    models[state.labels[0]], models[state.labels[3]] = 3.0, 9.0
    given.heard.add(2)
    state = flockwise.State(1, models, state.labels, state.apart, state.memory)
    alone = finish(merge_alike(given, 1.1, lambda round: np.array([2, 3])), Round(state)).state
    assert alone.models[alone.labels[2]].tolist() == [5.0, 5.0], "two thirds of 3 and one third of 9"
    joined = finish(merge_alike(given, 0.5, lambda round: np.array([0, 2, 3])), Round(state)).state
    assert joined.labels[2] == joined.labels[0] and joined.models[joined.labels[2]].tolist() == [3.0, 3.0]


@pytest.mark.parametrize("fraction", [1.0, 0.4])
def test_turned_clients_are_found_whoever_is_drawn(fraction):
    game = play(rounds=10, split=TURNED, strategy={"name": "stocfl"}, sampling={"fraction": fraction})
    assert game.ari == 1.0 and game.mean_accuracy > 0.8


def test_a_newcomer_trains_the_anchor_first_and_finds_its_flock_at_once():
    late = {"late_clients": 3, "late_round": 4}
    for name in ("stocfl", "fedclust"):
        game = play(rounds=5, split=TURNED, strategy={"name": name}, faults=late)
        assert game.ari == 1.0, name
        first = {event.client for _, event in game.events("placed")}
        new = np.flatnonzero(~game.records[0].arrays["trained"])
        homes = game.records[3].arrays["flock"][new]
        assert (homes >= 0).all() and (name == "stocfl" or first), name


def test_a_pull_brings_flocks_together_and_none_leaves_them():
    apart, near = (
        play(rounds=6, split=TURNED, strategy={"name": "stocfl", "pull": pull}).server.state
        for pull in (0.0, 0.5)
    )
    away = [np.linalg.norm(np.diff(s.models[np.unique(s.labels)], axis=0)) for s in (apart, near)]
    assert away[1] < 0.5 * away[0]


@pytest.mark.parametrize("seed", [1, 3])
def test_last_layers_of_the_first_round_tell_turned_clients_apart(seed):
    game = play(rounds=4, seed=seed, split=TURNED, strategy={"name": "fedclust"})
    assert game.ari == 1.0 and [round for round, _ in game.events("flocks")] == [1]
    held = game.server.state.to_arrays()["memory/anchor/updates"]
    assert held.shape == (12, 200 * 10 + 10), "the last layer alone"


def test_alike_clients_stay_together():
    for name in ("stocfl", "fedclust"):
        game = play(rounds=3, split={"name": "iid", "clients": 10}, strategy={"name": name})
        assert game.server.state.flocks == 1, name


@pytest.mark.parametrize("name", ["stocfl", "fedclust"])
def test_a_stopped_run_goes_on_to_the_same_bits(name, tmp_path):
    content = {**BASE, "rounds": 5, "split": TURNED, "strategy": {"name": name}, "checkpoint": {"every": 1},
               "sampling": {"fraction": 0.5}, "faults": {"late_clients": 2, "late_round": 4}}  # fmt: skip
    whole = flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, True])
    flockwise.run(content, out=tmp_path / "run", stop=lambda: next(answers))
    again = flockwise.resume(tmp_path / "run")
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
