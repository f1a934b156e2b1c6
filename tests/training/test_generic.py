import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from flockwise.errors import InputError
from flockwise.models import Layout, build
from flockwise.training import Recipe, choose_trainer
from flockwise.training.generic import GenericTrainer
from tests.training.networks import orders_of, plain_loop, relative_to_update, samples

RECIPES = [
    Recipe(2, 4, 0.1),
    Recipe(2, 4, 0.1, momentum=0.9),
    Recipe(2, 4, 0.1, weight_decay=0.05),
    Recipe(2, 4, 0.1, proximal=0.5),
    Recipe(3, 4, 0.1, momentum=0.5, weight_decay=0.02, proximal=0.3),
    Recipe(2, 1, 0.02, momentum=0.9),
    Recipe(2, 100, 0.1),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
@pytest.mark.parametrize("name, shape", [("softmax", (1, 8, 8)), ("cnn", (3, 8, 8))])
def test_it_equals_the_usual_loop(name, shape, recipe):
    module = build(name, shape, 3, seed=0)
    x, y = samples(shape, 10)
    orders = orders_of(10, recipe.epochs)
    start = Layout.of(module).read(module)
    vector, loss = GenericTrainer(module, shape).train(start, x, y, orders, recipe)
    expected, expected_loss = plain_loop(module, x, y, orders, recipe)
    np.testing.assert_allclose(vector, expected, atol=2e-6, rtol=1e-4)
    assert loss == pytest.approx(expected_loss, rel=1e-5)


@pytest.mark.parametrize("name, close", [("softmax", 0.001), ("cnn", 0.02), ("mobilenet", 0.1)])
@pytest.mark.parametrize("compiled", [False, True])
def test_adam_takes_the_steps_of_torchs_own(name, close, compiled):
    shape = (3, 16, 16)
    module = build(name, shape, 3, seed=0)
    x, y = samples(shape, 16)
    start, orders = Layout.of(module).read(module), orders_of(16, 1)
    for recipe in (
        Recipe(1, 8, 0.001, optimizer="adam"),
        Recipe(1, 8, 0.001, weight_decay=0.05, proximal=0.5, optimizer="adam"),
    ):
        vector, loss = GenericTrainer(module, shape, compiled=compiled).train(start, x, y, orders, recipe)
        expected, expected_loss = plain_loop(module, x, y, orders, recipe)
        # A gradient of almost nothing takes a whole step, up or down as it was rounded.
        assert relative_to_update(vector, expected, start) < close
        assert loss == pytest.approx(expected_loss, rel=close)


def test_adam_starts_anew_with_every_client():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    x, y = samples((1, 8, 8), 10)
    trainer, start = GenericTrainer(module, (1, 8, 8)), Layout.of(module).read(module)
    recipe = Recipe(1, 4, 0.01, optimizer="adam")
    first = trainer.train(start, x, y, orders_of(10, 1), recipe)
    trainer.train(start, x, y[::-1].copy(), orders_of(10, 1), Recipe(1, 4, 0.1))
    again = trainer.train(start, x, y, orders_of(10, 1), recipe)
    np.testing.assert_array_equal(first[0], again[0])
    assert first[1] == again[1]


def test_the_native_kernels_refuse_what_they_cannot_follow():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    trainer, _ = choose_trainer(module, (1, 8, 8), Recipe(1, 4, 0.01), prefer="native")
    if isinstance(trainer, GenericTrainer):
        pytest.skip("no compiler")
    x, y = samples((1, 8, 8), 4)
    with pytest.raises(InputError, match="clip = 1"):
        trainer.train(Layout.of(module).read(module), x, y, orders_of(4, 1), Recipe(1, 4, 0.01, clip=1.0))


def test_feature_vectors_are_trained_too():
    module = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    x, y = samples((5,), 9)
    orders, recipe = orders_of(9, 2), Recipe(2, 4, 0.1)
    start = Layout.of(module).read(module)
    vector, _ = GenericTrainer(module, (5,)).train(start, x, y, orders, recipe)
    expected, _ = plain_loop(module, x, y, orders, recipe)
    np.testing.assert_allclose(vector, expected, atol=1e-6)


def test_running_statistics_of_batch_normalisation_are_trained_along():
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    x, y = samples((3, 4, 4), 8)
    orders, recipe = orders_of(8, 2), Recipe(2, 4, 0.1)
    start = Layout.of(module).read(module)
    vector, _ = GenericTrainer(module, (3, 4, 4)).train(start, x, y, orders, recipe)
    expected, _ = plain_loop(module, x, y, orders, recipe)
    np.testing.assert_allclose(vector, expected, atol=1e-5)
    entry = next(e for e in Layout.of(module).entries if e.name == "1.running_mean")
    assert (vector[entry.start : entry.stop] != 0).all()


def test_mobilenet_trains_like_the_usual_loop_in_one_step():
    shape = (3, 16, 16)
    module = build("mobilenet", shape, 3, seed=0)
    x, y = samples(shape, 8)
    orders, recipe = orders_of(8, 1), Recipe(1, 8, 0.001)
    start = Layout.of(module).read(module)
    _, loss = GenericTrainer(module, shape).train(start, x, y, orders, recipe)
    _, expected = plain_loop(module, x, y, orders, recipe)
    assert loss == pytest.approx(expected, rel=1e-4)


def test_nothing_given_is_changed_and_read_only_arrays_are_fine():
    module = build("cnn", (1, 8, 8), 3, seed=0)
    x, y = samples((1, 8, 8), 6)
    orders, start = orders_of(6, 1), Layout.of(module).read(module)
    arrays = (start, x, y, orders)
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    trainer = GenericTrainer(module, (1, 8, 8))
    vector, _ = trainer.train(*arrays, Recipe(1, 4, 0.1))
    trainer.losses(vector, x, y)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    np.testing.assert_array_equal(Layout.of(module).read(module), before[0])


def test_the_same_arguments_give_the_same_bits_even_with_dropout():
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 3))
    x, y = samples((1, 8, 8), 20)
    arguments = (Layout.of(module).read(module), x, y, orders_of(20, 2), Recipe(2, 4, 0.1))
    first = GenericTrainer(module, (1, 8, 8)).train(*arguments)
    trainer = GenericTrainer(module, (1, 8, 8))
    torch.rand(3)
    for vector, loss in (trainer.train(*arguments), trainer.train(*arguments)):
        np.testing.assert_array_equal(vector, first[0])
        assert loss == first[1]


def test_the_global_generator_of_torch_is_left_alone():
    module = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(64, 3))
    x, y = samples((1, 8, 8), 4)
    before = torch.get_rng_state()
    GenericTrainer(module, (1, 8, 8)).train(
        Layout.of(module).read(module), x, y, orders_of(4, 1), Recipe(1, 2, 0.1)
    )
    assert torch.equal(torch.get_rng_state(), before)


def test_losses_are_those_of_torch():
    module = build("cnn", (1, 8, 8), 3, seed=0).eval()
    x, y = samples((1, 8, 8), 300)
    loss, correct = GenericTrainer(module, (1, 8, 8)).losses(Layout.of(module).read(module), x, y)
    logits = module(torch.from_numpy(x).permute(0, 3, 1, 2))
    assert loss == pytest.approx(functional.cross_entropy(logits, torch.from_numpy(y)).item(), rel=1e-5)
    assert correct == int((logits.argmax(1) == torch.from_numpy(y)).sum())


def test_frozen_parameters_stay():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.ReLU(), nn.Linear(4, 3))
    module[1].requires_grad_(False)
    x, y = samples((1, 8, 8), 6)
    start = Layout.of(module).read(module)
    vector, _ = GenericTrainer(module, (1, 8, 8)).train(start, x, y, orders_of(6, 1), Recipe(1, 2, 0.1))
    np.testing.assert_array_equal(vector[: 64 * 4 + 4], start[: 64 * 4 + 4])
    assert (vector[64 * 4 + 4 :] != start[64 * 4 + 4 :]).any()


def test_wrong_shapes_are_refused():
    module = build("softmax", (1, 8, 8), 3, seed=0)
    trainer, start = GenericTrainer(module, (1, 8, 8)), Layout.of(module).read(module)
    x, y = samples((1, 8, 8), 6)
    recipe = Recipe(1, 2, 0.1)
    with pytest.raises(InputError, match=r"must be \(n, 8, 8, 1\)"):
        trainer.train(start, x.reshape(6, 1, 8, 8), y, orders_of(6, 1), recipe)
    with pytest.raises(InputError, match=r"y of shape \(5,\)"):
        trainer.train(start, x, y[:5], orders_of(6, 1), recipe)
    with pytest.raises(InputError, match="orders of shape"):
        trainer.train(start, x, y, orders_of(6, 2), recipe)
    with pytest.raises(InputError, match="orders reach"):
        trainer.train(start, x, y, orders_of(6, 1) + 1, recipe)


@pytest.mark.parametrize(
    "field, value",
    [
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", -1.0),
        ("momentum", 1.0),
        ("weight_decay", float("nan")),
        ("proximal", -0.1),
        ("optimizer", "adagrad"),
    ],
)
def test_an_impossible_recipe_names_its_field(field, value):
    fields = {"epochs": 1, "batch_size": 10, "learning_rate": 0.1} | {field: value}
    with pytest.raises(InputError, match=f"{field} = "):
        Recipe(**fields)


def test_momentum_is_not_adams():
    with pytest.raises(InputError, match=r"momentum = 0\.9: .* leave it out"):
        Recipe(1, 10, 0.1, momentum=0.9, optimizer="adam")


def _normalised_rows() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 5), nn.BatchNorm1d(5), nn.Linear(5, 3))


def test_a_sample_that_cannot_be_normalised_alone_joins_the_batch_before_it():
    module, (x, y) = _normalised_rows(), samples((1, 4, 4), 9)
    start, order = Layout.of(module).read(module), orders_of(9, 1)
    trainer = GenericTrainer(module, (1, 4, 4))
    assert trainer.least == 2
    trained, loss = trainer.train(start, x, y, order, Recipe(1, 4, 0.1))
    first = order[:, :4]  # the same steps by hand: four samples, then five
    between, _ = trainer.train(start, x[first[0]], y[first[0]], np.arange(4)[None], Recipe(1, 4, 0.1))
    rest = order[0, 4:]
    expected, _ = trainer.train(between, x[rest], y[rest], np.arange(5)[None], Recipe(1, 5, 0.1))
    np.testing.assert_array_equal(trained, expected)
    assert np.isfinite(loss)


@pytest.mark.parametrize("name, least", [("mobilenet", 1), ("mobilenet-original", 2), ("cnn", 1)])
def test_how_small_a_batch_may_be_depends_on_what_is_left_of_the_image(name, least):
    assert GenericTrainer(build(name, (3, 32, 32), 10, seed=0), (3, 32, 32), compiled=True).least == least


def test_batches_of_one_are_refused_where_nothing_could_be_normalised():
    with pytest.raises(InputError, match=r"training.batch_size = 1: must be at least 2"):
        choose_trainer(_normalised_rows(), (1, 4, 4), Recipe(1, 1, 0.1))
