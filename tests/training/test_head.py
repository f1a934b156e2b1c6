"""The last layer without autograd: the same gradients, for every kind of module that ends in a linear layer."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from flockwise.training import Recipe
from flockwise.training.generic import GenericTrainer
from flockwise.training.head import head_of
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, seeded, vector_of

MODULES = {
    "softmax regression": [nn.Flatten(), nn.Linear(48, 3)],
    "without bias": [nn.Flatten(), nn.Linear(48, 3, bias=False)],
    "perceptron": [nn.Flatten(), nn.Linear(48, 20), nn.Tanh(), nn.Linear(20, 3)],
    "convolution": [nn.Conv2d(3, 4, 3), nn.Sigmoid(), nn.Flatten(), nn.Linear(16, 3)],
}


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_those_of_autograd(name: str) -> None:
    module = seeded(*MODULES[name])
    generator = torch.Generator().manual_seed(0)
    images, classes = torch.rand(7, 3, 4, 4, generator=generator), torch.arange(7) % 3
    head = head_of(module, flat=False)
    assert head is not None
    parameters: list[torch.Tensor] = list(module.parameters())
    logits, found = head.gradients(images, classes, parameters)
    expected = module(images)
    exact = torch.autograd.grad(functional.cross_entropy(expected, classes), parameters)
    torch.testing.assert_close(logits.t(), expected, rtol=1e-5, atol=1e-6)
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "recipe", [Recipe(2, 5, 0.1), Recipe(2, 5, 0.1, momentum=0.5, weight_decay=0.02, proximal=0.3)], ids=str
)
@pytest.mark.parametrize("name", MODULES)
def test_training_equals_the_usual_loop(name: str, recipe: Recipe) -> None:
    module = seeded(*MODULES[name])
    (x, y), orders, start = samples((3, 4, 4), 23), orders_of(23, 2), vector_of(module)
    found, loss = GenericTrainer(module, (3, 4, 4)).train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(found, exact, start) < 1e-5
    assert loss == pytest.approx(exact_loss, rel=1e-5)


def test_frozen_layers_stay() -> None:
    module = seeded(nn.Flatten(), nn.Linear(48, 8), nn.ReLU(), nn.Linear(8, 3))
    for parameter in module[1].parameters():
        parameter.requires_grad_(False)
    (x, y), orders, start = samples((3, 4, 4), 10), orders_of(10, 1), vector_of(module)
    found, _ = GenericTrainer(module, (3, 4, 4)).train(start, x, y, orders, Recipe(1, 5, 0.1))
    frozen = 48 * 8 + 8
    assert (found[:frozen] == start[:frozen]).all() and (found[frozen:] != start[frozen:]).any()


def test_other_ends_are_left_to_autograd() -> None:
    shared = nn.Linear(4, 4)
    hooked = nn.Sequential(nn.Flatten(), nn.Linear(4, 4))
    hooked[1].register_forward_hook(lambda layer, inputs, result: result * 2)
    others = [
        nn.Linear(4, 4),
        nn.Sequential(nn.Linear(4, 4)),  # on images: not a row for each
        nn.Sequential(nn.Flatten(), nn.Linear(4, 4), nn.LogSoftmax(1)),
        nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared),
        hooked,
    ]
    assert [head_of(module, flat=False) for module in others] == [None] * len(others)
    assert head_of(nn.Sequential(nn.Linear(4, 4)), flat=True) is not None
