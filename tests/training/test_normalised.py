"""Convolution, batch normalisation and rectifier as one compiled step: what torch gives for the layers one by one."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from flockwise.models import build
from flockwise.native.compiler import find_compiler
from flockwise.training import Recipe, choose_trainer, normalised
from flockwise.training.generic import GenericTrainer
from flockwise.training.normalised import NormalisedSequential, use_normalised
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, seeded, vector_of

compiled = pytest.mark.skipif(find_compiler() is None, reason="no compiler")


def dense(channels: int, outputs: int, kernel: int = 1, stride: int = 1) -> list[nn.Module]:
    conv = nn.Conv2d(channels, outputs, kernel, stride=stride, padding=kernel // 2, bias=False)
    return [conv, nn.BatchNorm2d(outputs), nn.ReLU()]


def depthwise(channels: int, stride: int = 1) -> list[nn.Module]:
    conv = nn.Conv2d(channels, channels, 3, stride=stride, padding=1, groups=channels, bias=False)
    return [conv, nn.BatchNorm2d(channels), nn.ReLU()]


CHAINS = {  # layers, and the shape of the images
    "colours, 3x3": (dense(3, 32, 3), (4, 3, 9, 8)),
    "colours, stride 2": (dense(3, 16, 3, stride=2), (4, 3, 9, 8)),
    "1x1 of colours": (dense(3, 16), (4, 3, 5, 5)),
    "1x1": (dense(32, 48), (4, 32, 7, 5)),
    "1x1, deeper than a strip": (dense(528, 16), (2, 528, 3, 3)),
    "depthwise": (depthwise(32), (4, 32, 7, 6)),
    "depthwise, stride 2": (depthwise(16, 2), (4, 16, 7, 6)),
    "depthwise, stride 2, odd": (depthwise(32, 2), (4, 32, 6, 5)),
    "depthwise, one pixel": (depthwise(16), (4, 16, 1, 1)),
    "a chain": ([*dense(3, 32, 3), *depthwise(32), *dense(32, 48), *depthwise(48, 2), *dense(48, 80)], (3, 3, 8, 9)),
    "a chain inside": ([*depthwise(16, 2), *dense(16, 32), *dense(32, 16), *depthwise(16)], (5, 16, 8, 7)),
    "more than a block of rows": ([*dense(16, 32), *depthwise(32)], (7, 16, 6, 6)),
}  # fmt: skip


def check(layers: list[nn.Module], shape: tuple[int, ...]) -> None:
    """Values, gradients and running averages against float64."""
    exact = seeded(*copy.deepcopy(layers)).double()
    ours = copy.deepcopy(exact).float()
    assert use_normalised(ours)
    rng = np.random.default_rng(0)
    images = torch.from_numpy(rng.standard_normal(shape))
    wanted = shape[1] % 16 == 0  # pictures never need a gradient
    double, single = images.clone().requires_grad_(wanted), images.float().requires_grad_(wanted)
    expected, found = exact(double), ours(single)
    gradient = torch.from_numpy(rng.standard_normal(tuple(expected.shape)))
    expected.backward(gradient)
    found.backward(gradient.float())
    pairs = [(expected, found), *zip(exact.buffers(), ours.buffers(), strict=True)]
    pairs += [(p.grad, f.grad) for p, f in zip(exact.parameters(), ours.parameters(), strict=True)]
    pairs += [(double.grad, single.grad)] if wanted else []
    for right, rounded in pairs:
        assert right is not None and rounded is not None
        apart = (right.detach() - rounded.detach()).abs().max() / right.detach().abs().max()
        assert float(apart) < 2e-5


@compiled
@pytest.mark.parametrize("name", CHAINS)
def test_values_gradients_and_averages_are_those_of_the_layers(name: str) -> None:
    check(*CHAINS[name])


@compiled
@pytest.mark.parametrize("lanes", [4, 16])
def test_other_vector_widths_give_the_same(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalised, "FLAGS", ("-O1", "-w", f"-DFLOCKWISE_LANES={lanes}"))
    for name in ("a chain", "a chain inside", "1x1, deeper than a strip"):
        check(*CHAINS[name])


@compiled
def test_mobilenet_trains_as_in_the_usual_loop_to_the_same_bits_each_time() -> None:
    module, recipe = build("mobilenet", (3, 32, 32), 10, seed=0), Recipe(1, 16, 0.001, momentum=0.9)
    (x, y), orders, start = samples((3, 32, 32), 32, classes=10), orders_of(32, 1), vector_of(module)
    trainer, why = choose_trainer(module, (3, 32, 32), recipe)
    assert isinstance(trainer, GenericTrainer) and why.startswith(
        "generic path with compiled steps: BatchNorm2d"
    )
    assert any(isinstance(part, NormalisedSequential) for part in trainer._module.modules())
    found, _ = trainer.train(start, x, y, orders, recipe)
    again, _ = trainer.train(start, x, y, orders, recipe)
    assert again.tobytes() == found.tobytes()
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    # Two steps of an almost chaotic network: torch's own float32 is 0.0009 away.
    assert relative_to_update(found, exact, start) < 0.004


@compiled
def test_small_steps_follow_the_usual_loop_closely() -> None:
    layers = [*dense(3, 16, 3), *depthwise(16, 2), *dense(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    module, recipe = seeded(*layers, nn.Linear(32, 3)), Recipe(2, 5, 0.05, weight_decay=0.01, proximal=0.1)
    (x, y), orders, start = samples((3, 8, 8), 23), orders_of(23, 2), vector_of(module)
    found, loss = GenericTrainer(module, (3, 8, 8), compiled=True).train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(found, exact, start) < 1e-4
    assert loss == pytest.approx(exact_loss, rel=1e-5)


@compiled
def test_a_run_takes_its_own_steps_where_the_gradient_alone_counts() -> None:
    layers = [
        *dense(16, 48),
        *depthwise(48, 2),
        *dense(48, 80),
        *depthwise(80),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
    ]
    module = seeded(*layers, nn.Linear(80, 3))
    (x, y), orders, start = samples((16, 6, 6), 23), orders_of(23, 2), vector_of(module)
    trainer = GenericTrainer(module, (16, 6, 6), compiled=True)
    (steps,) = trainer._stepping
    assert len(steps.moved) == 9  # of all layers but the first: weights, and both of the normalisation
    for recipe, own in ((Recipe(2, 5, 0.05), True), (Recipe(2, 5, 0.05, momentum=0.5), False)):
        found, _ = trainer.train(start, x, y, orders, recipe)
        exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
        assert (steps.rate is not None) == own
        assert relative_to_update(found, exact, start) < 1e-4


@compiled
def test_a_convolution_is_trained_where_all_else_is_frozen() -> None:
    module = seeded(*dense(16, 32), *dense(32, 48), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 3))
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name == "3.weight")
    (x, y), orders, start, recipe = (
        samples((16, 4, 4), 9),
        orders_of(9, 1),
        vector_of(module),
        Recipe(1, 3, 0.05),
    )
    found, _ = GenericTrainer(module, (16, 4, 4), compiled=True).train(start, x, y, orders, recipe)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(found, exact, start) < 1e-4


@compiled
def test_shared_or_later_runs_take_no_steps_of_their_own() -> None:
    shared = [*dense(16, 16), *dense(16, 16)]
    behind = [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), *dense(16, 32), *dense(32, 16)]
    for layers, shape in (([*shared, nn.Tanh(), *shared], (16, 4, 4)), (behind, (3, 4, 4))):
        assert GenericTrainer(seeded(*layers), shape, compiled=True)._stepping == []


@compiled
@pytest.mark.parametrize("layers", [dense(3, 16, 3), [*dense(3, 16, 3), *depthwise(16)]])
def test_sums_over_large_images_stay_exact(layers: list[nn.Module]) -> None:
    """All gradients of one sign: sums in float32 alone would be off by a thousandth."""
    exact = seeded(*copy.deepcopy(layers)).double()
    ours = copy.deepcopy(exact).float()
    assert use_normalised(ours)
    images = torch.rand(8, 3, 96, 96, dtype=torch.float64)
    exact(images).mean().backward()
    ours(images.float()).mean().backward()
    for right, found in zip(exact.parameters(), ours.parameters(), strict=True):
        assert right.grad is not None and found.grad is not None
        if right.dim() == 1:  # those of the weights are differences of almost equal numbers
            assert float((right.grad - found.grad).abs().max() / right.grad.abs().max()) < 1e-4


@compiled
def test_nan_stays_nan_and_one_value_is_refused_as_torch_does() -> None:
    module = nn.Sequential(*depthwise(16), *dense(16, 16))
    use_normalised(module)
    assert module(torch.full((2, 16, 4, 4), float("nan"))).isnan().all()
    with pytest.raises(ValueError, match="more than 1 value"):
        module(torch.ones(1, 16, 1, 1))


@compiled
def test_gradients_of_pictures_and_evaluation_are_left_to_torch() -> None:
    plain = nn.Sequential(*dense(3, 16, 3), *depthwise(16))
    ours = copy.deepcopy(plain)
    use_normalised(ours)
    images = torch.rand(2, 3, 6, 6)
    one, other = images.clone().requires_grad_(), images.clone().requires_grad_()
    plain(one).sum().backward()
    ours(other).sum().backward()
    assert one.grad is not None and other.grad is not None and torch.equal(one.grad, other.grad)
    assert torch.equal(plain.eval()(images), ours.eval()(images))


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(16, 16, 1), nn.BatchNorm2d(16), nn.ReLU()],  # a bias that normalisation takes away
        [nn.Conv2d(16, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU()],
        [nn.Conv2d(16, 16, 5, padding=2, groups=16, bias=False), nn.BatchNorm2d(16), nn.ReLU()],
        [nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16), nn.GELU()],
        [nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16, affine=False), nn.ReLU()],
        [nn.Conv2d(16, 16, 1, bias=False), nn.BatchNorm2d(16, momentum=None), nn.ReLU()],
        [nn.Conv2d(16, 32, 3, padding=1, groups=2, bias=False), nn.BatchNorm2d(32), nn.ReLU()],
    ],
)
def test_other_layers_are_left_alone(layers: list[nn.Module]) -> None:
    module = nn.Sequential(*layers)
    assert not use_normalised(module)
    assert type(module) is nn.Sequential


def test_without_a_compiler_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOCKWISE_NATIVE", "0")
    assert not use_normalised(nn.Sequential(*depthwise(16)))
