"""MobileNetV1 (Howard et al., arXiv 1704.04861), as published and for small images."""

from typing import TYPE_CHECKING

from flockwise.errors import InputError
from flockwise.models.contract import ImageShape, model

if TYPE_CHECKING:
    from torch import nn

# (output channels, stride) of each depthwise-separable block.
_BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2),
    (512, 1), (512, 1), (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1),
)  # fmt: skip


@model(
    "MobileNetV1 for 32x32 images, with batch normalisation",
    paper="Howard et al., MobileNets, arXiv 1704.04861",
)
def mobilenet(input_shape: ImageShape, classes: int) -> "nn.Module":
    """MobileNetV1 at full width: 3.2 million parameters and batch normalisation.

    The first layer keeps the resolution, so that a 32x32 image still has 2x2 pixels before the global average.
    """
    return _mobilenet(input_shape, classes, stride=1)


@model(
    "MobileNetV1 as published, which halves the image at once: communities",
    paper="Howard et al., MobileNets, arXiv 1704.04861",
)
def mobilenet_original(input_shape: ImageShape, classes: int) -> "nn.Module":
    """The same, but the first layer halves the image, as in the paper (and in Keras): a quarter of the work."""
    return _mobilenet(input_shape, classes, stride=2)


def _mobilenet(input_shape: ImageShape, classes: int, stride: int) -> "nn.Module":
    from torch import nn

    incoming, height, width = input_shape
    if height < 16 or width < 16:
        raise InputError(f"input_shape = {input_shape}: MobileNet needs at least 16x16 pixels; use `cnn`")
    layers = _normalised(nn.Conv2d(incoming, 32, 3, stride=stride, padding=1, bias=False))
    incoming = 32
    for outgoing, stride in _BLOCKS:
        depthwise = nn.Conv2d(incoming, incoming, 3, stride=stride, padding=1, groups=incoming, bias=False)
        layers += _normalised(depthwise)
        layers += _normalised(nn.Conv2d(incoming, outgoing, 1, bias=False))
        incoming = outgoing
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(incoming, classes))


def _normalised(convolution: "nn.Conv2d") -> "list[nn.Module]":
    from torch import nn

    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()]
