import numpy as np
import pytest
import torch

from flockwise.errors import InputError, PluginError
from flockwise.models import MODELS, Layout, build

SHAPES = {"mobilenet": [(3, 32, 32), (1, 28, 28)]}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_adapts_to_images_and_classes(name):
    for shape in SHAPES.get(name, [(1, 8, 8), (1, 28, 28), (3, 32, 32)]):
        module = build(name, shape, classes=7, seed=0).eval()
        assert module(torch.zeros(2, *shape)).shape == (2, 7)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_weights_and_another_seed_others(name):
    first, again, other = (build(name, (3, 32, 32), 10, seed) for seed in (1, 1, 2))
    layout = Layout.of(first)
    np.testing.assert_array_equal(layout.read(first), layout.read(again))
    assert (layout.read(first) != layout.read(other)).any()


def test_the_global_generator_of_torch_is_left_alone():
    before = torch.get_rng_state()
    build("cnn", (1, 28, 28), 10, seed=3)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_papers_cnn_has_the_size_of_the_papers():
    assert Layout.of(build("cnn", (1, 28, 28), 10, seed=0)).size == 1_663_370


def test_mobilenet_has_the_size_of_its_paper():
    trainable = [e for e in Layout.of(build("mobilenet", (3, 32, 32), 1000, seed=0)).entries if e.trainable]
    assert sum(entry.stop - entry.start for entry in trainable) == pytest.approx(4.2e6, rel=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_one_line_summary(name):
    assert MODELS[name].summary and "\n" not in MODELS[name].summary


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(PluginError, match="softmax, mlp, cnn"):
        build("resnet", (1, 28, 28), 10, seed=0)


@pytest.mark.parametrize("name, shape", [("cnn", (1, 3, 8)), ("mobilenet", (3, 8, 8)), ("mlp", (0, 8, 8))])
def test_images_too_small_for_the_model_are_refused(name, shape):
    with pytest.raises(InputError, match="input_shape"):
        build(name, shape, 10, seed=0)


def test_fewer_than_two_classes_are_refused():
    with pytest.raises(InputError, match="classes = 1"):
        build("softmax", (1, 8, 8), 1, seed=0)
