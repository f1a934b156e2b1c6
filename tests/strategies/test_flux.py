"""FLUX: clients by how a joint model sees their samples; newcomers without labels."""

import numpy as np
import pytest
import torch
from sklearn.cluster import DBSCAN
from tests.runs.small import fingerprint
from tests.strategies.playing import BASE, play

import flockwise
from flockwise.clustering import agglomerative
from flockwise.engine.latents import Latents
from flockwise.errors import InputError
from flockwise.metrics import adjusted_rand
from flockwise.models import build
from flockwise.models.layout import Layout
from flockwise.stages.descriptors import descriptor, without_labels

TURNED = {"name": "rotation", "clients": 12, "groups": 2}
SOON = {"name": "flux", "warmup": 3}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("split", [TURNED, BASE["split"]], ids=["turned", "swapped labels"])
def test_kinds_that_see_or_say_other_things_are_found(split, seed):
    game = play(rounds=6, seed=seed, split=split, strategy=SOON)
    assert game.ari == 1.0 and [round for round, _ in game.events("flocks")] == [3]


def test_latents_are_what_the_last_layer_gets():
    module = build("mlp", (1, 8, 8), 10, seed=1)
    vector = Layout.of(module).read(module)
    x = np.random.Generator(np.random.Philox(1)).uniform(size=(300, 8, 8, 1)).astype(np.float32)
    found = Latents(module).of(vector, x)
    with torch.no_grad():
        body = module[:-1](torch.from_numpy(x).permute(0, 3, 1, 2)).numpy()
    np.testing.assert_allclose(found, body, atol=1e-6)
    assert not np.array_equal(Latents(module).of(0.5 * vector, x), found)
    with pytest.raises(InputError, match="model: has one layer"):
        Latents(build("softmax", (1, 8, 8), 10, seed=1))


def test_a_descriptor_holds_moments_of_all_samples_and_of_each_class():
    x, y = np.random.Generator(np.random.Philox(2)).normal(size=(50, 7)), np.arange(50) % 3
    made = descriptor(4, 5).make(x, y, 5)["descriptor"]
    assert made.shape == (6, 2, 4) and not made[4:].any()
    apart = descriptor(4, 5).make(x[y == 1], y[y == 1], 5)["descriptor"]
    np.testing.assert_allclose(made[2], apart[0])
    np.testing.assert_allclose(made[0, 0], np.average(made[1:4, 0], axis=0, weights=np.bincount(y)))


def test_single_linkage_is_dbscan_with_two_samples_to_a_cluster():
    rows = np.random.Generator(np.random.Philox(3)).normal(size=(40, 2))
    away = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    for radius in (0.2, 0.4, 0.7):
        theirs = DBSCAN(eps=radius, min_samples=2, metric="precomputed").fit_predict(away)
        alone = np.where(theirs == -1, 100 + np.arange(40), theirs)
        assert adjusted_rand(agglomerative(away, "single", radius), alone) == 1.0


def test_a_newcomer_is_placed_without_its_labels():
    late = {"late_clients": 3, "late_round": 5}
    game = play(rounds=6, split=TURNED, strategy=SOON, faults=late)
    assert game.ari == 1.0
    assert len([event for round, event in game.events("placed") if round == 5]) == 3
    rows = game.server.state.to_arrays()["memory/told/rows"]
    other = rows.copy()
    other[:, 1:] = 7.0
    np.testing.assert_array_equal(without_labels.function(rows), without_labels.function(other))


def test_what_settled_clients_tell_later_changes_nothing():
    """They are sent their flock's model by then, and describe their data by that one."""
    rows = [
        play(rounds=r, split=TURNED, strategy=SOON).server.state.to_arrays()["memory/told/rows"]
        for r in (3, 5)
    ]
    assert rows[0].tobytes() == rows[1].tobytes()


def test_alike_clients_stay_together():
    assert play(rounds=4, split={"name": "iid", "clients": 12}, strategy=SOON).server.state.flocks == 1


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path):
    content = {**BASE, "rounds": 6, "split": TURNED, "strategy": SOON, "checkpoint": {"every": 1},
               "faults": {"late_clients": 2, "late_round": 5}}  # fmt: skip
    flockwise.run(content, out=tmp_path / "whole")
    answers = iter([False, False, False, True])
    flockwise.run({**content, "engine": {"workers": 2}}, out=tmp_path / "run", stop=lambda: next(answers))
    flockwise.resume(tmp_path / "run")
    assert fingerprint(tmp_path / "run") == fingerprint(tmp_path / "whole")


def test_samples_with_several_labels_are_described_without_them(tmp_path):
    rng = np.random.default_rng(0)
    clients = [(x := rng.normal(size=(20, 6)), (x[:, :3] > 0).astype(int)) for _ in range(4)]
    config = {"rounds": 2, "task": {"name": "multi-label"}, "model": {"name": "mlp"}}
    federation = flockwise.Federation.from_arrays(clients)
    flux = {"name": "flux", "warmup": 1}
    run = flockwise.run({**config, "strategy": flux}, federation, out=tmp_path / "run")
    assert run.state == "finished" and run.rounds.tolist() == [1, 2]
    with pytest.raises(InputError, match=r"^strategy.by_class = true: samples of this data"):
        flockwise.run({**config, "strategy": {"name": "pacfl"}}, federation, out=tmp_path / "refused")


def test_a_model_of_one_layer_is_refused_before_anything_is_trained(tmp_path):
    config = {"rounds": 3, "split": {"clients": 4}, "model": {"name": "softmax"}, "strategy": SOON}
    with pytest.raises(InputError, match=r"^model: has one layer"):
        flockwise.run(config, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
