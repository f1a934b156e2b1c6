"""The models by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import nn

from flockwise.errors import InputError, PluginError
from flockwise.models.convolutional import cifar_cnn, lenet, papers_cnn
from flockwise.models.dense import perceptron, softmax_regression
from flockwise.models.mobilenet import mobilenet, mobilenet_original

ImageShape: TypeAlias = tuple[int, int, int]  # (channels, height, width)


@dataclass(frozen=True)
class Model:
    """A named architecture that adapts to the image shape and the number of classes."""

    name: str
    summary: str
    factory: Callable[[ImageShape, int], nn.Module]


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("softmax", "softmax regression: one linear layer, convex", softmax_regression),
        Model("mlp", "perceptron with two hidden layers of 200", perceptron),
        Model("cnn", "two 5x5 convolutions (32, 64) and 512 hidden units: FL+HC and FLIC", papers_cnn),
        Model("lenet", "two 5x5 convolutions (6, 16), 120 and 84 hidden units: Byzantine CFL", lenet),
        Model("cifar-cnn", "two 5x5 convolutions (64, 64), 384 and 192 hidden units", cifar_cnn),
        Model("mobilenet", "MobileNetV1 for 32x32 images, with batch normalisation", mobilenet),
        Model(
            "mobilenet-original",
            "MobileNetV1 as published, which halves the image at once: communities",
            mobilenet_original,
        ),
    )
}


def build(name: str, input_shape: ImageShape, classes: int, seed: int) -> nn.Module:
    """A new model with torch's default initialisation, the same for the same seed.

    torch's global generator is left as it was.

    >>> build("softmax", (1, 28, 28), classes=10, seed=0)[1]
    Linear(in_features=784, out_features=10, bias=True)
    """
    if name not in MODELS:
        raise PluginError(f"model = {name!r}: not known; choose one of {', '.join(MODELS)}")
    if len(input_shape) != 3 or min(input_shape) < 1:
        raise InputError(f"input_shape = {input_shape}: must be (channels, height, width), all at least 1")
    if classes < 2:
        raise InputError(f"classes = {classes}: must be at least 2")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return MODELS[name].factory(input_shape, classes)
