"""FedEM: models that all share, in a mix that is each client's own."""

import copy

import numpy as np
import pytest
import torch
from tests.strategies.playing import play
from torch.nn import functional

from flockwise.errors import FlockwiseError
from flockwise.models import build

MIXED = {"name": "mixture", "parts": 2, "of": {"name": "mlp", "hidden": 30}}
TURNED = {"name": "rotation", "clients": 8, "groups": 2}
SWAPPED = {"name": "label_swap", "clients": 8, "groups": 2}
FAST = {"epochs": 3, "batch_size": 10, "learning_rate": 0.3}


def shares_of(game):
    """Each client's shares, as it keeps them."""
    powers = np.exp(game.parts.engine.kept()["own"])
    return powers / powers.sum(axis=1, keepdims=True)


def test_a_mixtures_cross_entropy_is_the_likelihood_of_the_mix():
    model = build("mixture", (1, 8, 8), 10, seed=3, parts=3, of="softmax")
    with torch.no_grad():
        model.mix.shares.copy_(torch.tensor([0.5, -1.0, 2.0]))
    x, y = torch.rand(7, 1, 8, 8), torch.arange(7)
    shares = torch.softmax(model.mix.shares, 0)
    mixed = sum(s * torch.softmax(part(x), 1) for s, part in zip(shares, model.parts, strict=True))
    expected = -torch.log(mixed[torch.arange(7), y]).mean()
    torch.testing.assert_close(functional.cross_entropy(model(x), y), expected)


def test_the_shares_are_the_mean_responsibilities_of_the_authors_code():
    from flockwise.stages.own_mix import OwnMix

    game = play(
        rounds=1, split=TURNED, model=MIXED, training={**FAST, "batch_size": 1000}, strategy={"name": "fedem"}
    )
    work = game.parts.work
    model, (x, y) = work.first.copy(), work.data(3, "train", 1)
    work.travel.layout.write(work.module, model)
    with torch.no_grad():
        images, labels = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(y)
        losses = torch.stack(
            [functional.cross_entropy(part(images), labels, reduction="none") for part in work.module.parts]
        )
        weights = torch.full((2,), 0.5)
        responsible = functional.softmax(
            torch.log(weights) - losses.T, dim=1
        ).T  # client.py, update_sample_weights
        expected = responsible.mean(dim=1)  # update_learners_weights
    trained, _, _ = OwnMix().train(local_training(work, x, y), model, np.zeros(0, np.float32))
    told = torch.softmax(torch.from_numpy(trained[-2:]), 0)
    torch.testing.assert_close(told, expected, rtol=1e-4, atol=1e-5)


def local_training(work, x, y):
    from flockwise.engine.local_training import ClientTraining

    return ClientTraining(work._trainers, work.recipe, 1, x, y, np.random.default_rng(0))


def test_a_round_is_that_of_single_steps_in_torch_within_rounding():
    """Shares told batch by batch from the gradient of a step, then the models with their shares frozen."""
    from flockwise.stages.own_mix import OwnMix
    from flockwise.training.generic import GenericTrainer

    game = play(rounds=1, split=TURNED, model=MIXED, training=FAST, strategy={"name": "fedem"})
    work = game.parts.work
    x, y = (part[:120] for part in work.data(3, "train", 1))  # batches of one size
    model = work.first.copy()
    model[-2:] = [0.7, -0.4]
    trained, _, loss = OwnMix().train(local_training(work, x, y), model, np.zeros(0, np.float32))

    powers = np.exp(model[-2:])
    local = local_training(work, x, y)
    told = [powers / powers.sum() + step(model)[0][-2:] / local.rate for step in local.steps(1)]
    begins = model.copy()
    begins[-2:] = np.log(np.mean(told, axis=0))
    frozen = copy.deepcopy(work.module)
    frozen.mix.requires_grad_(False)
    rng = np.random.default_rng(0)
    orders = np.stack([rng.permutation(len(y)) for _ in range(3)])
    expected, same = GenericTrainer(frozen, (1, 8, 8)).train(begins, x, y, orders, local.recipe)
    np.testing.assert_allclose(trained[-2:], expected[-2:], atol=1e-5)
    moved = np.linalg.norm(expected[:-2] - model[:-2])
    assert np.linalg.norm(trained[:-2] - expected[:-2]) < 1e-4 * moved
    assert loss == pytest.approx(same, rel=1e-5)


def test_shares_are_told_from_all_samples_where_they_do_not_fit_at_once(monkeypatch):
    from flockwise.engine import local_training as pieces

    game = play(rounds=1, split=TURNED, model=MIXED, training=FAST, strategy={"name": "fedem"})
    work = game.parts.work
    x, y = work.data(3, "train", 1)
    model = work.first + np.float32(0.01)
    at_once = local_training(work, x, y).gradient(model, "kept")
    monkeypatch.setattr(pieces, "_AT_ONCE", 7)
    np.testing.assert_allclose(local_training(work, x, y).gradient(model, "kept"), at_once, atol=1e-6)


def test_other_optimisers_train_the_models_since_shares_need_none():
    training = {"epochs": 1, "batch_size": 10, "learning_rate": 0.01, "optimizer": "adam"}
    game = play(rounds=3, split=TURNED, model=MIXED, training=training, strategy={"name": "fedem"})
    np.testing.assert_allclose(shares_of(game).sum(axis=1), 1.0, rtol=1e-5)
    assert game.mean_accuracy > 0.3


def test_kinds_of_clients_mix_the_models_differently():
    game = play(rounds=25, split=SWAPPED, model=MIXED, training=FAST, strategy={"name": "fedem"})
    first, second = (shares_of(game)[game.truth == kind, 0] for kind in (0, 1))
    assert first.min() > second.max() + 0.3 or second.min() > first.max() + 0.3


def test_inside_flocks_each_flock_has_models_of_its_own():
    game = play(
        rounds=3, split=SWAPPED, model=MIXED, training=FAST, strategy={"name": "fedem", "flocks": "oracle"}
    )
    assert game.server.state.models.shape == (2, game.parts.work.travel.layout.size - 2)
    assert not np.allclose(*game.server.state.models)
    np.testing.assert_allclose(shares_of(game).sum(axis=1), 1.0, rtol=1e-5)


def test_a_model_without_shares_is_refused_in_a_line():
    with pytest.raises(
        FlockwiseError, match=r"this model has none; choose one that has, such as model\.name = 'mixture'"
    ):
        play(rounds=1, strategy={"name": "fedem"})


@pytest.mark.parametrize("of", ["mixture", "nobody", {"hidden": 3}])
def test_a_mixture_of_nothing_known_is_refused(of):
    with pytest.raises(FlockwiseError, match="must be the name of another model"):
        build("mixture", (1, 8, 8), 10, seed=0, of=of)
