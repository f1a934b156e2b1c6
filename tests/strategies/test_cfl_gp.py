"""CFL-GP: updates of the same models, added up, and spectral clustering of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.metrics import adjusted_rand
from flockwise.stages.centres import kmeans
from flockwise.stages.profiles import leading

PUBLISHED = json.loads((Path(__file__).parent / "published" / "cfl_gp.json").read_text())["cases"]


def matrices():
    """The inputs that the published code was run on."""
    rng = np.random.Generator(np.random.Philox(31))
    for k, noise in ((2, 0.6), (3, 0.9), (3, 1.2), (4, 1.0)):
        centres, who = rng.normal(size=(k, 50)), rng.integers(0, k, size=18)
        yield (centres[who] + noise * rng.normal(size=(18, 50))).astype(np.float32)


def test_flocks_and_singular_values_are_those_of_the_authors_code():
    for rows, case in zip(matrices(), PUBLISHED, strict=True):
        reduced = leading(rows, case["flocks"])
        np.testing.assert_allclose(np.linalg.norm(reduced, axis=0), case["singular"], rtol=1e-4)
        assert adjusted_rand(kmeans(reduced, case["flocks"], seed=0), np.array(case["labels"])) == 1.0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_swapped_labels_are_found(seed):
    game = play(rounds=6, seed=seed, strategy={"name": "cfl-gp", "flocks": 3})
    assert game.ari == 1.0 and game.mean_accuracy > 0.85


def test_a_profile_is_the_mean_of_what_a_client_did_to_each_model():
    """Two flocks, a look every round: models take turns, and the third look meets the first model again."""
    setting = {"split": {"name": "rotation", "clients": 6, "groups": 2}, "sampling": {"fraction": 0.5}}
    options = {"name": "cfl-gp", "every": 1, "last": 3}
    states = [play(rounds=r, strategy=options, **setting).server.state for r in (1, 2)]
    game = play(rounds=3, strategy=options, **setting)
    work, first = game.parts.work, game.parts.work.first
    sent = [first, states[0].models[1], states[1].models[0]]
    held = game.server.state.to_arrays()
    assert held["memory/profiles/counts"].tolist() == [[2, 1]] * 6
    for client in (0, 5):
        moves = [work.train(client, r + 1, model[None])[0] - model for r, model in enumerate(sent)]
        profile = held["memory/profiles/means"][client]
        np.testing.assert_allclose(profile[0], (moves[0] + moves[2]) / 2, atol=1e-6)
        np.testing.assert_allclose(profile[1], moves[1], atol=1e-6)


def test_after_the_last_look_nothing_is_trained_twice():
    game = play(
        rounds=4, strategy={"name": "cfl-gp", "flocks": 3, "every": 1, "last": 2}, sampling={"fraction": 0.5}
    )
    assert [int(record.facts["participants"]) for record in game.records] == [12, 12, 6, 6]
    assert max(round for round, _ in game.events("flocks")) <= 2


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    content = {
        **BASE,
        "rounds": 5,
        "strategy": {"name": "cfl-gp"},
        "checkpoint": {"every": 1},
        "sampling": {"fraction": 0.5},
    }
    whole = flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, False, True])
    flockwise.run(content, out=tmp_path / "run", stop=lambda: next(answers))
    again = flockwise.resume(tmp_path / "run")
    ours, theirs = again.checkpoint(), whole.checkpoint()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name].tobytes() != theirs[name].tobytes()] == []
