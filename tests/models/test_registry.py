import subprocess
import sys

import numpy as np
import pytest
import torch

from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.models import MODELS, Layout, build, mlp, softmax


@pytest.mark.parametrize("name", [name for name, piece in MODELS.items() if piece.example is not None])
def test_every_model_of_images_adapts_to_them_and_to_classes(name):
    for shape in [(1, 8, 8), (1, 28, 28), (3, 32, 32)]:
        try:
            module = build(name, shape, classes=7, seed=0).eval()
        except InputError as error:
            assert shape == (1, 8, 8) and "needs at least" in str(error)
            continue
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


def test_lenet_has_its_size_on_colour_images():
    assert Layout.of(build("lenet", (3, 32, 32), 10, seed=0)).size == 62_006


@pytest.mark.parametrize("name", ["mobilenet", "mobilenet-original"])
def test_mobilenet_has_the_size_of_its_paper(name):
    trainable = [e for e in Layout.of(build(name, (3, 32, 32), 1000, seed=0)).entries if e.trainable]
    assert sum(entry.stop - entry.start for entry in trainable) == pytest.approx(4.2e6, rel=0.02)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_one_line_summary(name):
    assert MODELS[name].summary and "\n" not in MODELS[name].summary


def test_an_unknown_model_names_the_known_ones():
    with pytest.raises(
        PluginError, match=r"model = 'xyz': not known; known are cfl-cnn, cifar-cnn, cnn, .*softmax"
    ):
        build("xyz", (1, 28, 28), 10, seed=0)
    with pytest.raises(PluginError, match="did you mean 'mobilenet'"):
        build("mobilnet", (1, 28, 28), 10, seed=0)


def test_models_are_known_without_torch_and_made_by_calling_them():
    code = "import sys, flockwise.models as m; assert 'mlp' in m.MODELS; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert mlp((1, 8, 8), 3)(torch.zeros(2, 1, 8, 8)).shape == (2, 3)
    assert MODELS["mlp"] is mlp and repr(mlp) == "<mlp: perceptron with two hidden layers>"
    assert [
        layer.out_features for layer in mlp((1, 8, 8), 3, hidden=7) if hasattr(layer, "out_features")
    ] == [7, 7, 3]
    with pytest.raises(ConfigError, match=r"model\.hiden = 3: unknown key; did you mean 'hidden'"):
        mlp((1, 8, 8), 3, hiden=3)
    with pytest.raises(ConfigError, match=r"model\.hidden = 3: unknown key; it takes none"):
        softmax((1, 8, 8), 3, hidden=3)


@pytest.mark.parametrize("name, shape", [("cnn", (1, 3, 8)), ("mobilenet", (3, 8, 8)), ("mlp", (0, 8, 8))])
def test_images_too_small_for_the_model_are_refused(name, shape):
    with pytest.raises(InputError, match="input_shape"):
        build(name, shape, 10, seed=0)


def test_a_model_that_returns_nothing_is_refused():
    with pytest.raises(InputError, match="classes = 0"):
        build("softmax", (1, 8, 8), 0, seed=0)


@pytest.mark.parametrize(
    "name, shape", [("lenet", (1, 15, 16)), ("cnn", (1, 28, 3)), ("mobilenet-original", (3, 15, 15))]
)
def test_images_that_are_too_small_are_refused(name, shape):
    with pytest.raises(InputError, match="needs at least"):
        build(name, shape, 10, seed=0)


@pytest.mark.parametrize("pixels, side", [("mobilenet", 2), ("mobilenet-original", 1)])
def test_what_is_left_of_a_small_image_before_the_average(pixels, side):
    features = build(pixels, (3, 32, 32), 10, seed=0).eval()[:-3]
    assert features(torch.zeros(1, 3, 32, 32)).shape == (1, 1024, side, side)
