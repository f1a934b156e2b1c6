"""1x1 convolutions as matrix products, which is faster when the channels lie last in memory."""

import torch
from torch import nn
from torch.nn import functional

from flockwise.training.stepping import LARGE, SteppingProduct, is_hooked, leaves, unshared_parameters


class PointwiseConv2d(nn.Conv2d):
    """A 1x1 convolution with stride 1 that multiplies all pixels with the weights at once.

    With a `rate` it takes its own steps, as `SteppingLinear` does.
    """

    rate: float | None = None

    @property
    def moved(self) -> list[torch.Tensor]:
        """What gets no gradient if there is a rate."""
        return [self.weight]

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The same values as `nn.Conv2d` up to rounding, with the channels last in memory."""
        count, channels, height, width = images.shape
        pixels = images.permute(0, 2, 3, 1).reshape(-1, channels)
        weight = self.weight.view(self.out_channels, channels)
        if self.rate is None or not torch.is_grad_enabled():
            result = functional.linear(pixels, weight, self.bias)
        else:
            result = SteppingProduct.apply(pixels, weight, self.bias, self.rate)  # type: ignore[no-untyped-call]
        return result.view(count, height, width, self.out_channels).permute(0, 3, 1, 2)


def use_pointwise(module: nn.Module) -> None:
    """Replace, in place, the 1x1 convolutions that `PointwiseConv2d` can stand in for.

    Names and tensors of the parameters stay.
    """
    for name, child in module.named_children():
        if type(child) is nn.Conv2d and _is_pointwise(child) and not is_hooked(child):
            replacement = PointwiseConv2d(child.in_channels, child.out_channels, 1, bias=False, device="meta")
            replacement.weight, replacement.bias = child.weight, child.bias
            setattr(module, name, replacement)
        else:
            use_pointwise(child)


def stepping_convolutions(module: nn.Module) -> list[PointwiseConv2d]:
    """The large ones that can take their own step, under the same conditions as linear layers.

    Those behind a rectifier behind a batch normalisation that is trained: its gradient is what autograd comes by for.
    """
    layers, unshared = leaves(module), unshared_parameters(module)
    return [
        layer
        for norm, relu, layer in zip(layers, layers[1:], layers[2:], strict=False)
        if isinstance(norm, nn.BatchNorm2d) and norm.affine and norm.weight.requires_grad
        and type(relu) is nn.ReLU
        and isinstance(layer, PointwiseConv2d) and layer.weight.requires_grad and id(layer.weight) in unshared
        and layer.weight.numel() >= LARGE and not is_hooked(layer)
    ]  # fmt: skip


def _is_pointwise(conv: nn.Conv2d) -> bool:
    return (
        conv.kernel_size == (1, 1)
        and conv.stride == (1, 1)
        and conv.groups == 1
        and conv.padding in ((0, 0), "same", "valid")
    )
