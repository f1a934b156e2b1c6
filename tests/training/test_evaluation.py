"""The compiled kernels that only test a model, against float64 and against themselves."""

import numpy as np
import pytest
import torch
from torch import nn

from flockwise.models import build
from flockwise.training.native import NativeTrainer, Unsupported, loading
from tests.training.networks import samples, seeded, vector_of

try:
    loading.load_kernels()
except Unsupported as reason:
    pytest.skip(f"needs the compiled kernels: {reason}", allow_module_level=True)


def two_convolutions(shape, kernel, padding, pool, inner=16, outputs=32, relu=True):
    """Of the second one, which has many channels, the kernels choose how to compute it."""
    body = [nn.Conv2d(shape[0], inner, 3, padding=1), nn.ReLU()]
    body += [nn.Conv2d(inner, outputs, kernel, padding=padding)]
    body += [nn.ReLU()] * relu + [nn.MaxPool2d(2)] * (pool == 2) + [nn.Flatten()]
    features = nn.Sequential(*body)(torch.zeros(1, *shape)).shape[1]
    return seeded(*body, nn.Linear(features, 21), nn.ReLU(), nn.Linear(21, 5))


def centred(logits):
    return logits - logits.mean(axis=1, keepdims=True)


def native_logits(trainer, vector, x, classes):
    """The logits but for a constant per sample: the losses of two answers differ by those of the logits."""
    ones = np.ones(len(x), dtype=np.int64)
    losses = [trainer.losses_each(vector, x, ones * answer, ones)[0] for answer in range(classes)]
    return centred(-np.stack(losses, axis=1))


def exact_logits(module, x):
    images = torch.from_numpy(x).double()
    with torch.no_grad():
        return centred(module.double()(images.permute(0, 3, 1, 2)).numpy())


def check_logits(module, shape, classes, n=7):
    x, _ = samples(shape, n)
    logits = native_logits(NativeTrainer(module, shape), vector_of(module), x, classes)
    exact = exact_logits(module, x)
    assert np.abs(logits - exact).max() < 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("pool", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5, 7])
@pytest.mark.parametrize("size", [(4, 4), (5, 7), (6, 11), (9, 4), (13, 18), (3, 12)])
def test_logits_are_exact_on_images_of_any_size(size, kernel, pool):
    shape = (1, *size)
    check_logits(two_convolutions(shape, kernel, kernel // 2, pool), shape, 5)


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("inner, outputs", [(6, 10), (20, 40), (33, 16)])
def test_logits_are_exact_for_any_number_of_channels(inner, outputs, kernel):
    module = two_convolutions((3, 10, 14), kernel, 0, 2, inner, outputs, relu=False)
    check_logits(module, (3, 10, 14), 5)


@pytest.mark.parametrize(
    "name, shape", [("cnn", (1, 28, 28)), ("cifar-cnn", (3, 32, 32)), ("mlp", (3, 7, 5))]
)
def test_logits_of_the_models_are_exact(name, shape):
    check_logits(build(name, shape, 10, seed=1), shape, 10, n=9)


@pytest.mark.parametrize("kernel", [3, 5])
def test_a_sample_gets_the_same_bits_whatever_else_is_in_its_batch(kernel):
    module = two_convolutions((1, 11, 14), kernel, 2, 2)
    trainer, vector = NativeTrainer(module, (1, 11, 14)), vector_of(module)
    x, y = samples((1, 11, 14), 300, 5)
    losses, correct = trainer.losses_each(vector, x, y, np.ones(300, dtype=np.int64))
    for i in (0, 1, 100, 255, 256, 299):
        assert (losses[i], correct[i]) == trainer.losses(vector, x[i : i + 1], y[i : i + 1])
    x[5] = np.nan
    spoilt, _ = trainer.losses_each(vector, x, y, np.ones(300, dtype=np.int64))
    np.testing.assert_array_equal(np.delete(spoilt, 5), np.delete(losses, 5))
    assert np.isnan(spoilt[5])


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [4, 16])
def test_machines_with_other_vectors_get_exact_logits(lanes, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(loading, "FLAGS", ("-O1", "-w", f"-DFLOCKWISE_LANES={lanes}"))
    for kernel in (1, 3, 5):
        for pool in (1, 2):
            check_logits(two_convolutions((3, 10, 13), kernel, kernel // 2, pool, 20, 48), (3, 10, 13), 5)
