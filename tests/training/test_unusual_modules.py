"""Modules that look like ones there is a faster way for, and are not: every path trains what torch trains."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import flockwise
from flockwise.config import parse_config
from flockwise.errors import FlockwiseError, InputError
from flockwise.models import Layout
from flockwise.runs.federating import make_federation
from flockwise.training import Recipe, choose_trainer
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, vector_of

IMAGE = (16, 6, 6)


class Tempered(nn.Sequential):
    def forward(self, inputs):
        return super().forward(inputs) / 0.2


class ByName(nn.Sequential):
    def forward(self, inputs):
        return self.last(torch.tanh(self.first(inputs)))


class Standardised(nn.Conv2d):
    def forward(self, inputs):
        weight = self.weight - self.weight.mean(dim=(1, 2, 3), keepdim=True)
        return functional.conv2d(inputs, weight / (weight.std(dim=(1, 2, 3), keepdim=True) + 1e-5), padding=1)


class FrozenNorm(nn.Sequential):
    def train(self, mode=True):
        super().train(mode)
        for layer in self.modules():
            if isinstance(layer, nn.BatchNorm2d):
                layer.eval()
        return self


def _by_name():
    module = ByName()
    module.add_module("first", nn.Linear(5, 4))
    module.add_module("last", nn.Linear(4, 3))
    return module


def _convolution(conv):
    return nn.Sequential(conv, nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 36, 3))


def _frozen():
    inner = nn.Sequential(nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
    return FrozenNorm(inner, nn.Flatten(), nn.Linear(16 * 36, 3))


def _hooked():
    module = _convolution(nn.Conv2d(16, 16, 1))
    module[0].register_forward_hook(_doubled)
    return module


def _doubled(layer, inputs, output):
    return 2 * output


MODULES = {
    "a sequence with its own end": ((5,), lambda: Tempered(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))),
    "a sequence that is none": ((5,), _by_name),
    "standardised weights": (IMAGE, lambda: _convolution(Standardised(16, 16, 3, padding=1, bias=False))),
    "a norm that stays frozen": (IMAGE, _frozen),
    "a hooked 1x1 convolution": (IMAGE, _hooked),
}


@pytest.mark.parametrize("path", ["auto", "generic"])
@pytest.mark.parametrize("name", MODULES)
def test_it_is_trained_as_torch_trains_it(name, path):
    shape, make = MODULES[name]
    torch.manual_seed(0)
    module = make()
    x, y = samples(shape, 12)
    recipe, orders = Recipe(2, 4, 0.05), orders_of(12, 2)
    start = vector_of(module)
    trainer, _ = choose_trainer(module, shape, recipe, prefer=path)
    vector, loss = trainer.train(start, x, y, orders, recipe)
    expected, expected_loss = plain_loop(module, x, y, orders, recipe)
    assert relative_to_update(vector, expected, start) < 1e-3
    assert loss == pytest.approx(expected_loss, rel=1e-3)


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Flatten(), nn.Linear(784, 10)),
        nn.Sequential(nn.Flatten(), nn.Linear(10, 10)),
        nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(288, 10)),
    ],
    ids=["too wide", "too narrow", "other channels"],
)
def test_a_model_that_does_not_fit_the_data_is_never_trained(module, tmp_path):
    data = parse_config({})
    federation = make_federation(data, None, None)
    with pytest.raises(FlockwiseError):
        flockwise.run(
            {"rounds": 1, "engine": {"workers": 1}}, clients=federation, model=module, out=tmp_path / "r"
        )


class Remembers(nn.Module):
    """With an order of its inputs, a mask, and a memory that is not part of its state."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.register_buffer("order", torch.tensor([4, 2, 0, 1, 3]))
        self.register_buffer("mask", torch.tensor([True, False, True, True, True]))
        self.register_buffer("seen", torch.zeros(()), persistent=False)

    def forward(self, inputs):
        if self.training:
            self.seen += 1
        return self.layer(inputs[:, self.order] * self.mask) * (1 + self.seen)


def test_buffers_beside_the_vector_stay_what_they_were():
    module = Remembers()
    x, y = samples((5,), 8)
    recipe, orders, start = Recipe(1, 4, 0.1), orders_of(8, 1), vector_of(module)
    trainer, _ = choose_trainer(module, (5,), recipe)
    first, again = (trainer.train(start, x, y, orders, recipe)[0] for _ in range(2))
    assert first.tobytes() == again.tobytes(), "nothing passes from one client to the next"
    expected, _ = plain_loop(module, x, y, orders, recipe)
    assert np.allclose(first, expected, atol=1e-6)
    Layout.of(module).write(module, first)
    assert module.order.tolist() == [4, 2, 0, 1, 3] and module.mask.tolist() == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_dropout_differs_between_rounds_and_clients_however_few_their_samples():
    module = nn.Sequential(nn.Linear(5, 64), nn.Dropout(0.5), nn.Linear(64, 3))
    x, y = samples((5,), 3)
    recipe, orders, start = Recipe(1, 4, 0.1), orders_of(1, 1), vector_of(module)
    trainer, _ = choose_trainer(module, (5,), recipe)

    def losses(vector, client):
        return trainer.train(vector, x[client : client + 1], y[:1], orders, recipe)[1]

    assert losses(start, 0) == losses(start, 0)
    moved = start + np.float32(1e-7)
    assert len({round(losses(vector, client), 4) for vector in (start, moved) for client in range(3)}) > 3


def test_a_model_without_anything_to_train_is_refused():
    module = nn.Sequential(nn.Linear(5, 3)).requires_grad_(False)
    with pytest.raises(InputError, match="no parameter that can be trained"):
        choose_trainer(module, (5,), Recipe(1, 4, 0.1))
