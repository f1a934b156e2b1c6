"""Mixtures in the compiled kernels: the same as torch, whichever of parts and shares move."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from flockwise.models import Layout, build
from flockwise.models.layers.mixture import Mixture
from flockwise.training import Recipe, choose_trainer
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer, Unsupported, loading
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, seeded, vector_of

try:
    loading.load_kernels()
except Unsupported as reason:
    pytest.skip(f"needs the compiled kernels: {reason}", allow_module_level=True)

SHAPE = (1, 8, 8)
RECIPES = [
    Recipe(2, 4, 0.3),
    Recipe(2, 4, 0.1, momentum=0.9),
    Recipe(2, 3, 0.1, weight_decay=0.1, proximal=0.3),
]


def mixture(of="mlp", parts=3, shares=(0.5, -1.0, 2.0)):
    module = build("mixture", SHAPE, 3, seed=0, parts=parts, of=of)
    with torch.no_grad():
        module.mix.shares.copy_(torch.tensor(shares))
    return module


def moving(module, parts, shares):
    module.parts.requires_grad_(parts)
    module.mix.requires_grad_(shares)
    return module


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("of", ["softmax", {"name": "mlp", "hidden": 30}, "cnn"])
def test_a_mixture_equals_exact_training(of, recipe):
    module = mixture(of)
    x, y = samples(SHAPE, 11)
    orders, start = orders_of(11, recipe.epochs), vector_of(module)
    vector, loss = NativeTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    for some in (slice(None), slice(-3, None)):  # all of it; and the shares by themselves, which move least
        stored = recipe.epochs * -(-11 // recipe.batch_size) * 2**-24 * np.linalg.norm(exact[some])
        allowed = 1e-5 * np.linalg.norm(exact[some] - start[some]) + stored
        assert np.linalg.norm(vector[some] - exact[some]) < allowed
    assert loss == pytest.approx(exact_loss, rel=1e-5)


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
def test_adam_moves_parts_and_shares_as_torch_does(optimizer):
    module, recipe = mixture(), Recipe(2, 4, 0.01, optimizer=optimizer, weight_decay=0.1)
    x, y = samples(SHAPE, 10)
    orders, start = orders_of(10, 2), vector_of(module)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    native, loss = NativeTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    generic, same = GenericTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    allowed = 10 * relative_to_update(generic, exact, start) + 1e-5
    assert relative_to_update(native, exact, start) < min(allowed, 1e-2)
    assert loss == pytest.approx(same, rel=1e-4)


@pytest.mark.parametrize(("parts", "shares"), [(True, False), (False, True)])
def test_what_is_frozen_stays_and_the_rest_moves_as_in_torch(parts, shares):
    module, recipe = moving(mixture(), parts, shares), Recipe(2, 4, 0.3)
    x, y = samples(SHAPE, 11)
    orders, start = orders_of(11, 2), vector_of(module)
    native, loss = NativeTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    generic, same = GenericTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    still = slice(-3, None) if parts else slice(0, -3)
    np.testing.assert_array_equal(native[still], start[still])
    assert relative_to_update(native, generic, start) < 1e-5
    assert loss == pytest.approx(same, rel=1e-5)


@pytest.mark.parametrize("n", [1, 300])
def test_losses_and_answers_are_those_of_torch(n):
    module = mixture("cnn")
    x, y = samples(SHAPE, n)
    loss, correct = NativeTrainer(module, SHAPE).losses(vector_of(module), x, y)
    with torch.no_grad():
        said = copy.deepcopy(module).double()(torch.from_numpy(x).double().permute(0, 3, 1, 2))
    assert loss == pytest.approx(functional.cross_entropy(said, torch.from_numpy(y)).item(), rel=1e-5)
    assert correct == int((said.argmax(1) == torch.from_numpy(y)).sum())


def test_the_loss_is_right_for_parts_that_are_far_from_sure_of_anything_else():
    module = Mixture([nn.Linear(2, 3), nn.Linear(2, 3)])
    start = np.zeros(Layout.of(module).size, np.float32)
    start[0], start[4], start[9], start[13] = (
        500,
        -500,
        500,
        -500,
    )  # of both parts: classes 0, 1 and 2 by 1000
    x, y = np.ones((2, 2), dtype=np.float32), np.array([0, 2])
    loss, correct = NativeTrainer(module, (2,)).losses(start, x, y)
    with torch.no_grad():
        Layout.of(module).write(module, start)
        expected = functional.cross_entropy(module(torch.from_numpy(x)), torch.from_numpy(y)).item()
    assert (loss, correct) == (pytest.approx(expected), 1) and expected > 100


def test_a_part_that_is_no_number_shows():
    module = mixture("softmax")
    start = vector_of(module)
    start[0] = np.nan
    x, y = samples(SHAPE, 6)
    trainer = NativeTrainer(module, SHAPE)
    trained, loss = trainer.train(start, x, y, orders_of(6, 1), Recipe(1, 3, 0.1))
    assert np.isnan(loss) and np.isnan(trained[-3:]).any() and np.isnan(trainer.losses(start, x, y)[0])


def hooked(module):
    module.mix.register_forward_hook(lambda *given: None)
    return module


def partly_frozen(module):
    module.parts[1].requires_grad_(False)
    return module


def shared(module):
    module.parts[1] = module.parts[0]
    return module


def of_two_kinds(module):
    module.parts[1] = seeded(nn.Flatten(), nn.Linear(64, 3))
    return module


@pytest.mark.parametrize("changed", [hooked, partly_frozen, shared, of_two_kinds])
def test_a_mixture_that_the_kernels_cannot_serve_is_left_to_torch(changed):
    module = changed(mixture({"name": "mlp", "hidden": 5}))
    trainer, why = choose_trainer(module, SHAPE, Recipe(1, 4, 0.1))
    assert isinstance(trainer, GenericTrainer) and why.startswith("generic path: ")
