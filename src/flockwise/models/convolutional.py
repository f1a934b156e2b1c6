"""Small convolutional networks: two rounds of convolution, ReLU and pooling, then linear layers."""

from typing import TYPE_CHECKING

from flockwise.errors import InputError
from flockwise.models.contract import ImageShape, model

if TYPE_CHECKING:
    from torch import nn


@model("two 5x5 convolutions (32, 64) and 512 hidden units: FL+HC and FLIC")
def cnn(input_shape: ImageShape, classes: int) -> "nn.Module":
    """The network of FL+HC (Briggs et al., IJCNN 2020) and FLIC: 5x5x32, 5x5x64, 512 hidden units."""
    return _two_convolutions(input_shape, (32, 64), (512, classes))


@model("two 5x5 convolutions (64, 64), 384 and 192 hidden units")
def cifar_cnn(input_shape: ImageShape, classes: int) -> "nn.Module":
    """The CIFAR network of McMahan et al., AISTATS 2017 (without its normalisation layers)."""
    return _two_convolutions(input_shape, (64, 64), (384, 192, classes))


@model("two 5x5 convolutions (6, 16), 120 and 84 hidden units: Byzantine CFL")
def lenet(input_shape: ImageShape, classes: int) -> "nn.Module":
    """LeNet-5 (LeCun et al., 1998) with rectifiers and maxima: 5x5x6, 5x5x16, 120 and 84 hidden units."""
    return _two_convolutions(input_shape, (6, 16), (120, 84, classes), padding=0)


@model("two 5x5 convolutions (6, 16) and no hidden layer: the authors' code of CFL")
def cfl_cnn(input_shape: ImageShape, classes: int) -> "nn.Module":
    """The network of the code that Sattler et al. published for clustered federated learning: 5x5x6, 5x5x16."""
    return _two_convolutions(input_shape, (6, 16), (classes,), padding=0)


def _two_convolutions(
    input_shape: ImageShape, channels: tuple[int, int], units: tuple[int, ...], padding: int = 2
) -> "nn.Module":
    from torch import nn

    (incoming, *sides), lost = input_shape, 4 - 2 * padding
    layers: list[nn.Module] = []
    for outgoing in channels:
        layers += [nn.Conv2d(incoming, outgoing, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2)]
        incoming, sides = outgoing, [(side - lost) // 2 for side in sides]
    if min(sides) < 1:
        least = 4 + 3 * lost
        raise InputError(
            f"input_shape = {input_shape}: this network needs at least {least}x{least} pixels; use `mlp`"
        )
    layers.append(nn.Flatten())
    incoming *= sides[0] * sides[1]
    for outgoing in units:
        layers += [nn.Linear(incoming, outgoing), nn.ReLU()]
        incoming = outgoing
    return nn.Sequential(*layers[:-1])
