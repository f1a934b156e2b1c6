import numpy as np
import pytest
import torch
from torch import nn

from flockwise.training import Recipe
from flockwise.training.generic import GenericTrainer
from flockwise.training.stepping import SteppingLinear, use_stepping
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, seeded, vector_of


def large(*between: nn.Module) -> nn.Module:
    return seeded(nn.Flatten(), nn.Linear(256, 256), nn.ReLU(), *between, nn.Linear(256, 3))


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(2, 4, 0.1),
        Recipe(2, 4, 0.1, momentum=0.9),
        Recipe(2, 4, 0.1, weight_decay=0.05),
        Recipe(2, 4, 0.1, proximal=0.5),
    ],
    ids=str,
)
def test_layers_that_take_their_own_step_train_like_the_usual_loop(recipe):
    module = large(nn.Sequential(nn.Linear(256, 256), nn.ReLU()))
    x, y = samples((1, 16, 16), 10)
    orders, start = orders_of(10, 2), vector_of(module)
    vector, loss = GenericTrainer(module, (1, 16, 16)).train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(vector, exact, start) < 1e-5
    assert loss == pytest.approx(exact_loss, rel=1e-5)


def test_one_trainer_may_change_between_recipes():
    module = large()
    x, y = samples((1, 16, 16), 8)
    orders, start = orders_of(8, 1), vector_of(module)
    trainer = GenericTrainer(module, (1, 16, 16))
    first = trainer.train(start, x, y, orders, Recipe(1, 4, 0.1))[0]
    trainer.train(start, x, y, orders, Recipe(1, 4, 0.1, momentum=0.9))
    np.testing.assert_array_equal(trainer.train(start, x, y, orders, Recipe(1, 4, 0.1))[0], first)


def test_layers_on_more_than_two_dimensions_step_too():
    module = seeded(nn.Linear(256, 256), nn.Flatten(), nn.Linear(512, 3))
    (layer,) = use_stepping(module)
    layer.rate = 0.5
    x = torch.rand(4, 2, 256)
    before = layer.weight.detach().clone()
    expected = torch.autograd.grad(nn.Linear.forward(layer, x).square().sum(), layer.weight)[0]
    torch.autograd.grad(layer(x).square().sum(), layer.bias)
    torch.testing.assert_close(layer.weight.detach(), before - 0.5 * expected, rtol=1e-4, atol=1e-4)


def test_only_large_layers_that_are_used_once_step():
    assert len(use_stepping(large())) == 1
    assert use_stepping(seeded(nn.Linear(16, 16), nn.Linear(16, 3))) == []
    assert use_stepping(seeded(nn.Linear(256, 256, bias=False), nn.Linear(256, 3))) == []
    layer = nn.Linear(256, 256)
    assert use_stepping(nn.Sequential(layer, nn.ReLU(), layer, nn.Linear(256, 3))) == []
    tied = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.Linear(256, 3))
    tied[2].weight = tied[0].weight
    assert use_stepping(tied) == []
    frozen = large()
    frozen[1].bias.requires_grad_(False)
    assert use_stepping(frozen) == []
    hooked = large()
    hooked[1].register_forward_hook(lambda *_: None)
    assert use_stepping(hooked) == []


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(256, 256)

    def forward(self, images):
        return self.layer(self.layer(images)).relu()


def test_modules_with_a_forward_of_their_own_may_use_a_layer_as_they_like():
    module = seeded(nn.Flatten(), Twice(), nn.Linear(256, 3))
    assert not any(isinstance(layer, SteppingLinear) for layer in use_stepping(module))
    x, y = samples((1, 16, 16), 6)
    orders, start, recipe = orders_of(6, 1), vector_of(module), Recipe(1, 3, 0.1)
    vector, _ = GenericTrainer(module, (1, 16, 16)).train(start, x, y, orders, recipe)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(vector, exact, start) < 1e-5


def pointwise(channels: int, outputs: int) -> list[nn.Module]:
    return [nn.BatchNorm2d(channels), nn.ReLU(), nn.Conv2d(channels, outputs, 1, bias=False)]


def classifier(channels: int) -> list[nn.Module]:
    return [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 3)]


@pytest.mark.parametrize("recipe", [Recipe(2, 5, 0.05), Recipe(2, 5, 0.05, momentum=0.9)], ids=str)
def test_large_convolutions_that_take_their_own_step_train_like_the_usual_loop(recipe):
    first = nn.Conv2d(3, 256, 3, padding=1)
    module = seeded(first, *pointwise(256, 264), *pointwise(264, 256), nn.BatchNorm2d(256), *classifier(256))
    (x, y), orders, start = samples((3, 4, 4), 20), orders_of(20, 2), vector_of(module)
    trainer = GenericTrainer(module, (3, 4, 4))
    assert [layer.weight.shape[0] for layer in trainer._stepping] == [264, 256]
    vector, loss = trainer.train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(vector, exact, start) < 1e-4
    assert loss == pytest.approx(exact_loss, rel=1e-4)


def test_only_large_convolutions_for_which_autograd_comes_by_step():
    shared = nn.Conv2d(256, 256, 1, bias=False)
    frozen = pointwise(256, 256)
    frozen[0].requires_grad_(False)
    for layers in (
        [shared],
        pointwise(64, 64),
        frozen,
        [nn.BatchNorm2d(256), nn.ReLU(), shared, nn.BatchNorm2d(256), nn.ReLU(), shared],
        [nn.BatchNorm2d(256), nn.Tanh(), shared],
    ):
        assert GenericTrainer(seeded(*layers, *classifier(256)), (256, 4, 4))._stepping == []
