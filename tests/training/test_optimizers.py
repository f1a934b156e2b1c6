"""Optimisers, clipping and rates that change, beside torch's own loop."""

import inspect

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import flockwise as fw
from flockwise.errors import InputError
from flockwise.models import Layout, build
from flockwise.training import Recipe, choose_trainer
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer, Unsupported
from tests.training.networks import orders_of, samples

SHAPE = (1, 8, 8)


def usual_loop(module, x, y, orders, batch, make, rates=None, clip=None):
    """Torch's own loop with a DataLoader's batches; `rates` are those of its steps."""
    module = build("mlp", SHAPE, 3, seed=0) if module is None else module
    optimizer, step = make(list(module.parameters())), 0
    images, classes = torch.from_numpy(x).permute(0, 3, 1, 2), torch.from_numpy(y)
    for order in orders:
        for rows in torch.split(torch.from_numpy(order), batch):
            if rates is not None:
                optimizer.param_groups[0]["lr"] = rates[step]
            optimizer.zero_grad()
            functional.cross_entropy(module(images[rows]), classes[rows]).backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(module.parameters(), clip)
            optimizer.step()
            step += 1
    return Layout.of(module).read(module)


def trained(recipe, trainer=None, n=10):
    """The same with ours."""
    module = build("mlp", SHAPE, 3, seed=0)
    x, y = samples(SHAPE, n)
    made = (trainer or GenericTrainer)(module, SHAPE)
    start, orders = Layout.of(module).read(module), orders_of(n, recipe.epochs)
    return made.train(start, x, y, orders, recipe)[0], (x, y, orders), start


def close(one, other, start, tolerance=1e-3):
    return np.linalg.norm(one - other) <= tolerance * np.linalg.norm(other - start)


def test_adamw_takes_the_steps_of_torchs_own():
    recipe = Recipe(2, 4, 0.001, weight_decay=0.1, optimizer="adamw")
    ours, data, start = trained(recipe)
    theirs = usual_loop(None, *data, 4, lambda p: torch.optim.AdamW(p, lr=0.001, weight_decay=0.1))
    assert close(ours, theirs, start)
    without, *_ = trained(Recipe(2, 4, 0.001, weight_decay=0.1, optimizer="adam"))
    assert not close(ours, without, start)


@pytest.mark.parametrize("clip", [0.05, 0.5, 100.0])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_clipping_bounds_the_gradient_of_each_step(clip, optimizer):
    recipe = Recipe(2, 4, 0.05, optimizer=optimizer, clip=clip)
    ours, data, start = trained(recipe)
    kind = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer]
    extra = {"weight_decay": 0.0}
    theirs = usual_loop(None, *data, 4, lambda p: kind(p, lr=0.05, **extra), clip=clip)
    assert close(ours, theirs, start, 0.01)


def test_an_optimiser_of_the_users_own_takes_its_own_steps():
    recipe = fw.Optimizer(lambda parameters: torch.optim.RMSprop(parameters, lr=0.002), 2, 4)
    ours, data, start = trained(recipe)
    theirs = usual_loop(None, *data, 4, lambda p: torch.optim.RMSprop(p, lr=0.002))
    assert close(ours, theirs, start, 0.01)  # up to how gradients are rounded
    assert recipe.optimizer == "own"


def test_an_optimiser_that_asks_for_the_learning_rate_is_given_it():
    recipe = fw.Optimizer(torch.optim.RMSprop, 1, 4, learning_rate=0.003)
    ours, data, start = trained(recipe)
    assert close(ours, usual_loop(None, *data, 4, lambda p: torch.optim.RMSprop(p, lr=0.003)), start, 0.01)
    assert recipe.optimizer == "torch.optim.rmsprop:RMSprop"


def _native_or_skip(module, shape):
    try:
        return NativeTrainer(module, shape)
    except Unsupported as why:
        pytest.skip(f"no kernels here: {why}")


@pytest.mark.parametrize("trainer", [GenericTrainer, _native_or_skip])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rates_of_steps_follow_their_schedule_on_every_path(trainer, momentum):
    schedule = (fw.schedules.exponential(0.7),)
    recipe = Recipe(2, 4, 0.1, momentum, step_schedule=schedule)
    ours, data, start = trained(recipe, trainer)
    rates = [0.1 * 0.7**step for step in range(6)]
    theirs = usual_loop(None, *data, 4, lambda p: torch.optim.SGD(p, lr=1.0, momentum=momentum), rates)
    assert close(ours, theirs, start)
    assert not close(ours, trained(Recipe(2, 4, 0.1, momentum), trainer)[0], start, 0.05)


@pytest.mark.parametrize("trainer", [GenericTrainer, _native_or_skip])
def test_the_rate_of_a_round_is_a_number_of_the_round(trainer):
    recipe = Recipe(1, 4, 0.1, schedule=(fw.schedules.step(every=1, factor=0.5),))
    assert [recipe.at(round).rate for round in (1, 2, 3)] == [0.1, 0.05, 0.025]
    np.testing.assert_array_equal(trained(recipe.at(2), trainer)[0], trained(Recipe(1, 4, 0.05), trainer)[0])


def test_own_optimisers_keep_to_schedules_too():
    make = lambda parameters: torch.optim.SGD(parameters, lr=0.2)  # noqa: E731
    recipe = fw.Optimizer(
        make, 1, 4, schedule=fw.schedules.step(1, 0.5), step_schedule=fw.schedules.step(1, 0.1)
    )
    ours, data, start = trained(recipe.at(2))
    theirs = usual_loop(None, *data, 4, lambda p: torch.optim.SGD(p, lr=1.0), [0.1, 0.01, 0.001])
    assert close(ours, theirs, start)


def test_large_layers_that_step_by_themselves_keep_to_schedules_too():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 1100), nn.ReLU(), nn.Linear(1100, 3))  # above LARGE
    x, y = samples(SHAPE, 8)
    start, orders = Layout.of(module).read(module), orders_of(8, 1)
    recipe = Recipe(1, 4, 0.1, step_schedule=(fw.schedules.step(1, 0.1),))
    ours, _ = GenericTrainer(module, SHAPE).train(start, x, y, orders, recipe)
    theirs = usual_loop(module, x, y, orders, 4, lambda p: torch.optim.SGD(p, lr=1.0), [0.1, 0.01])
    assert close(ours, theirs, start)


def test_the_path_says_what_the_kernels_cannot_do():
    module = build("mlp", SHAPE, 3, seed=0)
    for recipe, word in (
        (Recipe(1, 4, 0.1, clip=1.0), "clip = 1"),
        (fw.Optimizer(torch.optim.RMSprop), "own optimiser"),
    ):
        trainer, why = choose_trainer(module, SHAPE, recipe)
        assert isinstance(trainer, GenericTrainer) and word in why


@pytest.mark.parametrize(
    "make, match",
    [
        (lambda parameters: 3, "made a int, not a torch.optim.Optimizer"),
        (lambda parameters: 1 / 0, "cannot be made: ZeroDivisionError"),
        (torch.optim.LBFGS, "needs to see the loss several times"),
    ],
)
def test_a_function_that_makes_no_optimiser_is_told_of_before_anybody_trains(make, match):
    with pytest.raises(InputError, match=match):
        choose_trainer(build("mlp", SHAPE, 3, seed=0), SHAPE, fw.Optimizer(make))


@pytest.mark.parametrize(
    "fields", [{"clip": 0.0}, {"clip": float("nan")}, {"optimizer": "adamw", "momentum": 0.5}]
)
def test_recipes_that_make_no_sense_are_refused(fields):
    with pytest.raises(InputError, match=next(reversed(fields))):
        Recipe(1, 10, 0.1, **fields)


def test_what_all_recipes_take_is_shown_by_name_and_nothing_else_is_taken():
    assert {"schedule", "clip", "augment"} <= set(inspect.signature(fw.Adam).parameters)
    with pytest.raises(InputError, match="did you mean 'proximal'"):
        fw.SGD(proximale=0.1)


def brighter(x, rng):
    """An augmentation: noise on every batch."""
    return x + rng.normal(0, 0.1, x.shape)


def test_augmentation_sees_every_batch_with_a_seeded_generator():
    seen = []

    def watch(x, rng):
        seen.append((x.shape, rng.random()))
        return x * 0

    dark, _, start = trained(Recipe(2, 4, 0.1, augment=watch))
    assert [shape for shape, _ in seen] == [(4, 8, 8, 1), (4, 8, 8, 1), (2, 8, 8, 1)] * 2
    assert len({draw for _, draw in seen}) == 6
    x, y = samples(SHAPE, 10)
    module = build("mlp", SHAPE, 3, seed=0)
    black, _ = GenericTrainer(module, SHAPE).train(start, x * 0, y, orders_of(10, 2), Recipe(2, 4, 0.1))
    np.testing.assert_array_equal(dark, black)
    recipe = Recipe(1, 4, 0.1, augment=brighter)
    np.testing.assert_array_equal(trained(recipe)[0], trained(recipe)[0])
    assert not np.array_equal(trained(recipe)[0], trained(Recipe(1, 4, 0.1))[0])
    assert "samples as they are" in choose_trainer(module, SHAPE, recipe)[1]


@pytest.mark.parametrize(
    "change, match", [(lambda x, rng: x[:1], "must be the same"), (lambda x, rng: 1 / 0, "ZeroDivisionError")]
)
def test_an_augmentation_that_fails_says_so(change, match):
    with pytest.raises(InputError, match=rf"training\.augment: .*{match}"):
        trained(Recipe(1, 4, 0.1, augment=change))


def test_mixed_precision_needs_a_gpu_and_learns_the_same_up_to_its_rounding():
    module = build("mlp", SHAPE, 3, seed=0)
    recipe = Recipe(2, 4, 0.1, precision="mixed")
    with pytest.raises(InputError, match="needs a GPU"):
        choose_trainer(module, SHAPE, recipe)
    ours, _, start = trained(recipe)  # the trainer itself can, where torch can: slowly, on this CPU
    full, *_ = trained(Recipe(2, 4, 0.1))
    assert close(ours, full, start, 0.1) and not np.array_equal(ours, full)
