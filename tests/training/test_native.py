import threading

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from flockwise.errors import InputError
from flockwise.models import Layout, build
from flockwise.training import Recipe
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer, Unsupported, loading
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples, seeded, vector_of

try:
    loading.load_kernels()
except Unsupported as reason:
    pytest.skip(f"needs the compiled kernels: {reason}", allow_module_level=True)


def flat(channels, size, classes=3):
    return [nn.Flatten(), nn.Linear(channels * size * size, classes)]


CONVOLUTIONS = {
    "same 5x5, pooled": [nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 4)],
    "valid 5x5, pooled": [nn.Conv2d(3, 16, 5), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 2)],
    "valid 3x3": [nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 3)],
    "no pooling": [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), *flat(16, 8)],
    "no rectifier": [nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), *flat(16, 4)],
    "neither": [nn.Conv2d(1, 16, 3, padding="same"), *flat(16, 8)],
    "pooling first": [nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(), *flat(16, 4)],
    "odd channels": [
        nn.Conv2d(2, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 10, 3, padding="same"),
        nn.ReLU(),
        *flat(10, 4),
    ],
    "two of 5x5": [
        nn.Conv2d(1, 16, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        *flat(32, 2),
    ],
    "three of 3x3 without pooling between": [
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        *flat(16, 4),
    ],
    "valid inside": [
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 5),
        nn.ReLU(),
        *flat(16, 4),
    ],
    "7x7 and 1x1": [
        nn.Conv2d(16, 16, 1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 7, padding=3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        *flat(16, 4),
    ],
    "7x7 of colours": [nn.Conv2d(3, 16, 7, padding=3), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 4)],
    "1x1 of colours": [nn.Conv2d(3, 16, 1), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 4)],
    "20 channels at first": [nn.Conv2d(20, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 4)],
    "no bias": [
        nn.Conv2d(1, 16, 3, padding=1, bias=False),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 3, bias=False),
    ],
    "hidden layers": [
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 50),
        nn.ReLU(),
        nn.Linear(50, 7),
        nn.Linear(7, 3),
    ],
}


def check_against_float64(module, shape, recipe, n=7, classes=3):
    """The model must be that of exact training, up to rounding in the gradients and of the stored weights."""
    x, y = samples(shape, n, classes)
    orders, start = orders_of(n, recipe.epochs), vector_of(module)
    vector, loss = NativeTrainer(module, shape).train(start, x, y, orders, recipe)
    exact, exact_loss = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert vector.dtype == np.float32
    stored = recipe.epochs * -(-n // recipe.batch_size) * 2**-24 * np.linalg.norm(exact)
    assert np.linalg.norm(vector - exact) < 1e-5 * np.linalg.norm(exact - start) + stored
    assert loss == pytest.approx(exact_loss, rel=1e-5)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_every_kind_of_convolution_equals_exact_training(name):
    module = seeded(*CONVOLUTIONS[name])
    shape = (module[0].in_channels, 8, 8)
    check_against_float64(module, shape, Recipe(2, 3, 0.05))


@pytest.mark.parametrize("size", [(6, 10), (7, 9), (12, 5)])
@pytest.mark.parametrize("kernel", [3, 5])
def test_images_need_not_be_square(kernel, size):
    shape = (1, *size)
    body = [
        nn.Conv2d(1, 16, kernel, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 16, kernel, padding="same"),
        nn.ReLU(),
        nn.Flatten(),
    ]
    features = nn.Sequential(*body)(torch.zeros(1, *shape)).shape[1]
    check_against_float64(seeded(*body, nn.Linear(features, 3)), shape, Recipe(1, 4, 0.05))


@settings(max_examples=25, deadline=None)
@given(
    features=st.integers(1, 70),
    hidden=st.lists(st.integers(1, 40), max_size=2),
    classes=st.integers(2, 35),
    n=st.integers(1, 20),
    batch=st.integers(1, 25),
    seed=st.integers(0, 99),
)
def test_linear_networks_of_any_size_equal_exact_training(features, hidden, classes, n, batch, seed):
    layers, width = [], features
    for units in hidden:
        layers += [nn.Linear(width, units), nn.ReLU()]
        width = units
    module = seeded(*layers, nn.Linear(width, classes), seed=seed)
    check_against_float64(module, (features,), Recipe(2, batch, 0.1), n, classes)


@pytest.mark.parametrize("name, shape", [("softmax", (1, 28, 28)), ("mlp", (3, 8, 8)), ("cnn", (1, 28, 28))])
@pytest.mark.parametrize("batch", [1, 4, 10, 64])
def test_remainders_and_small_data_are_trained_exactly(name, shape, batch):
    check_against_float64(build(name, shape, 10, seed=0), shape, Recipe(1, batch, 0.01), n=9, classes=10)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(3, 4, 0.05, momentum=0.9),
        Recipe(3, 4, 0.05, weight_decay=0.1),
        Recipe(3, 4, 0.05, proximal=0.5),
        Recipe(3, 4, 0.05, momentum=0.5, weight_decay=0.02, proximal=0.3),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_momentum_decay_and_pull_equal_exact_training(name, recipe):
    check_against_float64(build(name, (1, 8, 8), 3, seed=0), (1, 8, 8), recipe, n=10)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(3, 4, 0.01, optimizer="adam"),
        Recipe(3, 4, 0.01, optimizer="adam", weight_decay=0.1, proximal=0.3),
        Recipe(3, 4, 0.01, optimizer="adamw", weight_decay=0.1),
        Recipe(2, 3, 0.01, optimizer="adamw", weight_decay=0.1, proximal=0.3),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["softmax", "mlp", "cnn"])
def test_adam_is_as_near_to_exact_training_as_torch_is(name, recipe):
    """A number whose gradient is next to nothing moves by a whole rate either way, in torch as well: hence a factor."""
    module, shape = build(name, (1, 8, 8), 3, seed=0), (1, 8, 8)
    x, y = samples(shape, 10, 3)
    orders, start = orders_of(10, recipe.epochs), vector_of(module)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    native, loss = NativeTrainer(module, shape).train(start, x, y, orders, recipe)
    generic, same = GenericTrainer(module, shape).train(start, x, y, orders, recipe)
    allowed = 10 * relative_to_update(generic, exact, start) + 1e-5
    assert relative_to_update(native, exact, start) < min(allowed, 1e-2)
    assert loss == pytest.approx(same, rel=1e-4)


def test_a_whole_epoch_stays_as_near_to_float64_as_torch_does():
    module, recipe, shape = build("cnn", (1, 28, 28), 10, seed=0), Recipe(1, 10, 0.01), (1, 28, 28)
    x, y = samples(shape, 100, 10)
    orders, start = orders_of(100, 1), vector_of(module)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    native, _ = NativeTrainer(module, shape).train(start, x, y, orders, recipe)
    generic, _ = GenericTrainer(module, shape).train(start, x, y, orders, recipe)
    # Rounding flips a choice of the maximum now and then, in torch as well: hence a factor.
    allowed = 10 * relative_to_update(generic, exact, start) + 1e-5
    assert relative_to_update(native, exact, start) < min(allowed, 1e-2)


@pytest.mark.parametrize("name, shape", [("cnn", (1, 28, 28)), ("cifar-cnn", (3, 32, 32))])
def test_the_steps_of_an_epoch_stay_as_near_to_float64_as_those_of_torch(name, shape):
    """Step by step, since one maximum that rounding flips, in torch as well, decides how far apart an epoch ends."""
    module, recipe = build(name, shape, 10, seed=0), Recipe(1, 10, 0.01)
    x, y = samples(shape, 100, 10)
    layout, start, order = Layout.of(module), vector_of(module), np.arange(10)[None]
    off = {"native": [], "torch": []}
    for batch in np.split(orders_of(100, 1)[0], 10):
        layout.write(module, start)
        exact, _ = plain_loop(module, x[batch], y[batch], order, recipe, torch.float64)
        native, _ = NativeTrainer(module, shape).train(start, x[batch], y[batch], order, recipe)
        generic, _ = GenericTrainer(module, shape).train(start, x[batch], y[batch], order, recipe)
        off["native"].append(relative_to_update(native, exact, start))
        off["torch"].append(relative_to_update(generic, exact, start))
        start = exact.astype(np.float32)
    assert np.median(off["native"]) < 2 * np.median(off["torch"]) + 1e-6
    flipped = np.array(off["native"]) > 10 * np.array(off["torch"]) + 1e-5
    assert flipped.sum() <= 1 and max(off["native"]) < 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [4, 16])
def test_machines_with_other_vectors_train_the_same(lanes, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    flags = ("-O1", "-w", f"-DFLOCKWISE_LANES={lanes}")
    monkeypatch.setattr(loading, "FLAGS", flags)
    for name in ("two of 5x5", "three of 3x3 without pooling between", "odd channels", "7x7 and 1x1"):
        module = seeded(*CONVOLUTIONS[name])
        check_against_float64(module, (module[0].in_channels, 8, 8), Recipe(2, 3, 0.05, momentum=0.5))
    module = build("mlp", (3, 8, 8), 10, seed=0)
    check_against_float64(module, (3, 8, 8), Recipe(1, 20, 0.1), n=33, classes=10)
    assert NativeTrainer(module, (3, 8, 8)).instructions == {4: "128-bit", 16: "AVX-512"}[lanes]


def test_equal_maxima_choose_the_first_as_torch_does():
    module = seeded(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), *flat(16, 6))
    with torch.no_grad():
        module[0].bias.fill_(0.5)
    x, y = np.zeros((6, 12, 12, 1), dtype=np.float32), np.arange(6) % 3
    x[:, 2:5, 2:5] = 1  # all around it the four pixels of a window are equal
    orders, start, recipe = orders_of(6, 1), vector_of(module), Recipe(1, 3, 0.1)
    vector, _ = NativeTrainer(module, (1, 12, 12)).train(start, x, y, orders, recipe)
    exact, _ = plain_loop(module, x, y, orders, recipe, torch.float64)
    assert relative_to_update(vector, exact, start) < 1e-5


@pytest.mark.parametrize(
    "name, shape", [("softmax", (3, 8, 8)), ("cnn", (1, 28, 28)), ("cifar-cnn", (3, 32, 32))]
)
@pytest.mark.parametrize("n", [1, 64, 131])
def test_losses_are_those_of_torch(name, shape, n):
    module = build(name, shape, 10, seed=3)
    x, y = samples(shape, n, 10)
    loss, correct = NativeTrainer(module, shape).losses(vector_of(module), x, y)
    with torch.no_grad():
        logits = module.double()(torch.from_numpy(x).double().permute(0, 3, 1, 2))
    assert loss == pytest.approx(functional.cross_entropy(logits, torch.from_numpy(y)).item(), rel=1e-5)
    assert correct == int((logits.argmax(1) == torch.from_numpy(y)).sum())


def test_the_loss_is_right_for_logits_that_are_far_apart():
    module = nn.Sequential(nn.Linear(2, 3))
    start = np.array([500, 0, -500, 0, 0, 0, 0, 0, 0], dtype=np.float32)
    x, y = np.ones((2, 2), dtype=np.float32), np.array([0, 1])
    loss, correct = NativeTrainer(module, (2,)).losses(start, x, y)
    assert (loss, correct) == (pytest.approx((0 + 1000) / 2), 1)


@pytest.mark.parametrize("kernel", [3, 5])
def test_a_pixel_that_is_no_number_shows_wherever_it_is(kernel):
    pool = (nn.Conv2d(1, 16, kernel), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    side = (14 - kernel + 1) // 2
    module = seeded(*pool, nn.Linear(16 * side * side, 3))
    x, y = samples((1, 14, 14), 4)
    x[0, side * 2 + kernel - 2, side * 2 + kernel - 2] = np.nan  # seen by the last pixel of its window alone
    trainer = NativeTrainer(module, (1, 14, 14))
    assert np.isnan(trainer.losses(vector_of(module), x, y)[0])
    assert np.isnan(trainer.train(vector_of(module), x, y, orders_of(4, 1), Recipe(1, 4, 0.1))[1])


def test_a_class_that_is_no_number_is_the_largest_as_in_torch():
    module = nn.Sequential(nn.Linear(2, 3))
    start = np.array([0, 0, 0, 0, 0, 0, 1.0, np.nan, np.nan], dtype=np.float32)  # weights, then biases
    x, y = np.ones((3, 2), dtype=np.float32), np.array([0, 1, 2])
    logits = torch.tensor([1.0, float("nan"), float("nan")])
    assert int(logits.argmax()) == 1
    assert NativeTrainer(module, (2,)).losses_each(start, x, y, np.array([1, 1, 1]))[1].tolist() == [0, 1, 0]


@pytest.mark.parametrize("name, rate", [("softmax", 3e38), ("cnn", 1e30)])
def test_divergence_shows_as_a_loss_that_is_no_number(name, rate):
    module = build(name, (1, 8, 8), 3, seed=0)
    x, y = samples((1, 8, 8), 12)
    trainer, orders = NativeTrainer(module, (1, 8, 8)), orders_of(12, 6)
    vector, loss = trainer.train(vector_of(module), x, y, orders, Recipe(6, 4, rate))
    assert not np.isfinite(loss)
    assert not np.isfinite(vector).all()
    assert not np.isfinite(trainer.losses(vector, x, y)[0])


def test_the_same_arguments_give_the_same_bits_also_from_threads():
    module = build("cnn", (1, 28, 28), 10, seed=0)
    x, y = samples((1, 28, 28), 30, 10)
    arguments = (vector_of(module), x, y, orders_of(30, 1), Recipe(1, 10, 0.05))
    trainer, results = NativeTrainer(module, (1, 28, 28)), []
    threads = [threading.Thread(target=lambda: results.append(trainer.train(*arguments))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for vector, loss in results:
        np.testing.assert_array_equal(vector, results[0][0])
        assert loss == results[0][1]


def test_nothing_given_is_changed_and_read_only_arrays_and_tensors_are_fine():
    module = build("cnn", (1, 8, 8), 3, seed=0)
    x, y = samples((1, 8, 8), 6)
    arrays = (vector_of(module), x, y, orders_of(6, 1))
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    trainer = NativeTrainer(module, (1, 8, 8))
    vector, _ = trainer.train(*arrays, Recipe(1, 4, 0.1))
    trainer.losses(vector, x, y)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    tensors = torch.from_numpy(before[1]), torch.from_numpy(before[2])
    np.testing.assert_array_equal(trainer.train(arrays[0], *tensors, arrays[3], Recipe(1, 4, 0.1))[0], vector)


def test_wrong_arguments_are_refused():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    trainer, start = NativeTrainer(module, (1, 8, 8)), vector_of(module)
    x, y = samples((1, 8, 8), 6)
    with pytest.raises(InputError, match=r"must be \(n, 8, 8, 1\)"):
        trainer.losses(start, x.reshape(6, 64), y)
    with pytest.raises(InputError, match="this model needs"):
        trainer.losses(start[1:], x, y)
    with pytest.raises(InputError, match="y reaches from 3 to 3: must be 0 to 2"):
        trainer.losses(start, x, y * 0 + 3)
    with pytest.raises(InputError, match="orders reach"):
        trainer.train(start, x, y, orders_of(6, 1) + 1, Recipe(1, 2, 0.1))
    with pytest.raises(InputError, match="orders of type float64: must be whole numbers"):
        trainer.train(start, x, y, orders_of(6, 1) * np.nan, Recipe(1, 2, 0.1))
    with pytest.raises(InputError, match="lengths of type float64: must be whole numbers"):
        trainer.losses_each(start, x, y, np.array([2.5, 3.5]))
