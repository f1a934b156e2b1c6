"""Fused blocks inside modules of torch: the same values and gradients as the layers they stand for."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from flockwise.models import Layout
from flockwise.training import Recipe, choose_trainer
from flockwise.training.fused import FusedSequential, _kernels, use_fused
from flockwise.training.generic import GenericTrainer

compiled = pytest.mark.skipif(_kernels() is None, reason="no compiler")


def _block(channels: int, outputs: int, kernel: int, padding: object, bias: bool = True) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(1)
        conv = nn.Conv2d(channels, outputs, kernel, padding=padding, bias=bias)  # type: ignore[arg-type]
    return nn.Sequential(conv, nn.ReLU(), nn.MaxPool2d(2))


@compiled
@pytest.mark.parametrize(
    ("channels", "outputs", "kernel", "padding", "size", "bias"),
    [
        (1, 32, 5, "same", 28, True), (3, 16, 3, "same", 32, True), (32, 64, 5, "same", 14, True),
        (16, 32, 3, "valid", 15, True), (16, 16, 5, "valid", 12, False), (32, 32, 3, (1, 1), 7, True),
    ],
)  # fmt: skip
def test_values_and_gradients_are_those_of_the_layers(
    channels: int, outputs: int, kernel: int, padding: object, size: int, bias: bool
) -> None:
    plain = _block(channels, outputs, kernel, padding, bias).double()
    fused = copy.deepcopy(plain).float()
    assert use_fused(fused)
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((3, channels, size, size)).astype(np.float32))
    wanted = channels % 16 == 0  # pictures never need a gradient
    double, single = (x.to(t).requires_grad_(wanted) for t in (torch.float64, torch.float32))
    expected, found = plain(double), fused(single)
    gradient = torch.from_numpy(rng.standard_normal(tuple(expected.shape)))
    expected.backward(gradient)
    found.backward(gradient.float())
    pairs = [
        (expected, found),
        *((p.grad, f.grad) for p, f in zip(plain.parameters(), fused.parameters(), strict=True)),
    ]
    pairs += [(double.grad, single.grad)] if wanted else []
    for exact, rounded in pairs:
        assert exact is not None and rounded is not None
        assert float((exact - rounded).detach().abs().max() / exact.detach().abs().max()) < 1e-5


@compiled
def test_a_module_that_the_kernels_do_not_know_trains_as_torch_would() -> None:
    torch_only = nn.Sequential(
        *_block(1, 16, 3, "same"), nn.BatchNorm2d(16), nn.Flatten(), nn.Linear(16 * 16, 4)
    )
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 8, 8, 1), dtype=np.float32), rng.integers(0, 4, 40)
    orders, recipe = np.stack([rng.permutation(40) for _ in range(2)]), Recipe(2, 8, 0.05, momentum=0.9)
    vector = Layout.of(torch_only).read(torch_only)
    trainer, why = choose_trainer(torch_only, (1, 8, 8), recipe)
    assert isinstance(trainer, GenericTrainer) and "BatchNorm2d" in why
    assert any(isinstance(m, FusedSequential) for m in trainer._module.modules())
    expected, loss = GenericTrainer(torch_only, (1, 8, 8)).train(vector, x, y, orders, recipe)
    found, found_loss = trainer.train(vector, x, y, orders, recipe)
    assert np.linalg.norm(found - expected) < 1e-3 * np.linalg.norm(expected - vector)
    assert found_loss == pytest.approx(loss, rel=1e-4)
    again, _ = trainer.train(vector, x, y, orders, recipe)
    assert again.tobytes() == found.tobytes()


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(16, 16, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2)],
        [nn.Conv2d(16, 12, 3), nn.ReLU(), nn.MaxPool2d(2)],
        [nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(3)],
        [nn.Conv2d(16, 16, 3), nn.GELU(), nn.MaxPool2d(2)],
        [nn.Conv2d(16, 16, 3, padding_mode="reflect", padding=1), nn.ReLU(), nn.MaxPool2d(2)],
    ],
)
def test_other_layers_are_left_alone(layers: list[nn.Module]) -> None:
    module = nn.Sequential(*layers)
    assert not use_fused(module)
    assert type(module) is nn.Sequential


@compiled
def test_nan_stays_nan() -> None:
    module = _block(16, 16, 3, "same")
    use_fused(module)
    assert module(torch.full((1, 16, 8, 8), float("nan"))).isnan().all()


@compiled
def test_images_with_other_channels_are_refused_by_torch() -> None:
    module = _block(16, 16, 3, "same")
    use_fused(module)
    with pytest.raises(RuntimeError, match="channels"):
        module(torch.rand(1, 32, 8, 8))


def test_without_a_compiler_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOCKWISE_NATIVE", "0")
    assert not use_fused(_block(16, 16, 3, "same"))
