"""Small convolutional networks: two rounds of convolution, ReLU and pooling, then linear layers."""

from torch import nn

from flockwise.errors import InputError


def papers_cnn(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """The network of FL+HC (Briggs et al., IJCNN 2020) and FLIC: 5x5x32, 5x5x64, 512 hidden units."""
    return _two_convolutions(input_shape, (32, 64), (512, classes))


def cifar_cnn(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """The CIFAR network of McMahan et al., AISTATS 2017 (without its normalisation layers)."""
    return _two_convolutions(input_shape, (64, 64), (384, 192, classes))


def _two_convolutions(
    input_shape: tuple[int, int, int], channels: tuple[int, int], units: tuple[int, ...]
) -> nn.Module:
    incoming, height, width = input_shape
    if height < 4 or width < 4:
        raise InputError(f"input_shape = {input_shape}: two 2x2 poolings need at least 4x4 pixels; use `mlp`")
    layers: list[nn.Module] = []
    for outgoing in channels:
        layers += [nn.Conv2d(incoming, outgoing, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2)]
        incoming = outgoing
    layers.append(nn.Flatten())
    incoming *= (height // 2 // 2) * (width // 2 // 2)
    for outgoing in units:
        layers += [nn.Linear(incoming, outgoing), nn.ReLU()]
        incoming = outgoing
    return nn.Sequential(*layers[:-1])
