import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from flockwise.models import build
from flockwise.training import Recipe
from flockwise.training.blocked import BlockedSequential, use_blocked
from flockwise.training.generic import GenericTrainer
from tests.training.networks import orders_of, samples, seeded, vector_of


@pytest.fixture(autouse=True)
def a_machine_with_avx2(monkeypatch):
    """The layout works on every x86 machine; only the choice depends on which is faster."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("needs oneDNN")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")


NETWORKS = {
    "pooled": (nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 3)),
    "two, odd channels": (
        nn.Conv2d(3, 5, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(5, 6, 3, bias=False),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24, 3),
    ),
    "stride and padded pooling": (
        nn.Conv2d(3, 8, (3, 5), stride=2, padding=(1, 2)),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
        nn.Flatten(),
        nn.Linear(72, 3),
    ),
    "nested, other layers between": (
        nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.MaxPool2d(2)),
        nn.BatchNorm2d(8),
        nn.Tanh(),
        nn.Sequential(nn.Conv2d(8, 8, 3, padding="valid"), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Flatten(),
        nn.Linear(32, 3),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_blocked_layers_have_the_values_and_gradients_of_the_usual_ones(name):
    usual = seeded(*copy.deepcopy(NETWORKS[name]))
    blocked = copy.deepcopy(usual)
    assert use_blocked(blocked)
    assert any(isinstance(module, BlockedSequential) for module in blocked.modules())
    assert list(blocked.state_dict()) == list(usual.state_dict())
    images = torch.from_numpy(samples((3, 12, 12), 5)[0]).permute(0, 3, 1, 2)
    results, gradients = [], []
    for module in (usual, blocked):
        logits = module(images.clone())
        results.append(logits.detach())
        loss = functional.cross_entropy(logits, torch.tensor([0, 1, 2, 0, 1]))
        gradients.append(torch.autograd.grad(loss, list(module.parameters())))
    torch.testing.assert_close(results[1], results[0], rtol=1e-5, atol=1e-6)
    for ours, expected in zip(gradients[1], gradients[0], strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-6)


def test_equal_maxima_pass_the_gradient_to_the_same_pixel():
    usual = seeded(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 3))
    blocked = copy.deepcopy(usual)
    use_blocked(blocked)
    images = torch.zeros(2, 1, 6, 6)
    images[:, :, 2:4, 2:4] = 1  # all around it the four pixels of a window are equal
    images[:, :, 4:, 4:] = 0.5
    first, second = (
        torch.autograd.grad(functional.cross_entropy(m(images), torch.tensor([0, 1])), list(m.parameters()))
        for m in (usual, blocked)
    )
    for expected, ours in zip(first, second, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-6)


UNFIT = {
    "groups": (nn.Conv2d(4, 4, 3, groups=4), nn.MaxPool2d(2)),
    "dilation": (nn.Conv2d(4, 4, 3, dilation=2), nn.MaxPool2d(2)),
    "border": (nn.Conv2d(4, 4, 3, padding=1, padding_mode="circular"), nn.MaxPool2d(2)),
    "even same": (nn.Conv2d(4, 4, 2, padding="same"), nn.MaxPool2d(2)),
    "rounding up": (nn.Conv2d(4, 4, 3), nn.MaxPool2d(2, ceil_mode=True)),
    "no pooling": (nn.Conv2d(4, 4, 3), nn.ReLU()),
    "no convolution": (nn.ReLU(), nn.MaxPool2d(2)),
}


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_left_alone(name):
    module = nn.Sequential(*UNFIT[name])
    assert not use_blocked(module)
    assert type(module) is nn.Sequential


def test_machines_where_it_is_slower_keep_the_channels_last(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    assert not use_blocked(build("cnn", (1, 8, 8), 3, seed=0))


def test_hooks_still_see_their_layer():
    module, seen = build("cnn", (1, 8, 8), 3, seed=0), []
    module[1].register_forward_hook(lambda layer, inputs, result: seen.append(result.shape))
    use_blocked(module)
    module(torch.zeros(2, 1, 8, 8))
    assert seen == [(2, 32, 8, 8)]


def test_divergence_shows_in_the_loss_though_rectifiers_make_zero_of_it():
    module = build("cnn", (1, 8, 8), 3, seed=0)
    x, y = samples((1, 8, 8), 12)
    trainer = GenericTrainer(module, (1, 8, 8))
    vector, loss = trainer.train(vector_of(module), x, y, orders_of(12, 6), Recipe(6, 4, 1e30))
    assert not np.isfinite(vector).all()
    assert not np.isfinite(loss)
    assert not np.isfinite(trainer.losses(vector, x, y)[0])
