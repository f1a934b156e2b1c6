"""1x1 convolutions as matrix products, which is faster when the channels lie last in memory."""

import torch
from torch import nn
from torch.nn import functional


class PointwiseConv2d(nn.Conv2d):
    """A 1x1 convolution with stride 1 that multiplies all pixels with the weights at once."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The same values as `nn.Conv2d` up to rounding, with the channels last in memory."""
        count, channels, height, width = images.shape
        pixels = images.permute(0, 2, 3, 1).reshape(-1, channels)
        result = functional.linear(pixels, self.weight.view(self.out_channels, channels), self.bias)
        return result.view(count, height, width, self.out_channels).permute(0, 3, 1, 2)


def use_pointwise(module: nn.Module) -> None:
    """Replace, in place, the 1x1 convolutions that `PointwiseConv2d` can stand in for.

    Names and tensors of the parameters stay.
    """
    for name, child in module.named_children():
        if type(child) is nn.Conv2d and _is_pointwise(child):
            replacement = PointwiseConv2d(child.in_channels, child.out_channels, 1, bias=False, device="meta")
            replacement.weight, replacement.bias = child.weight, child.bias
            setattr(module, name, replacement)
        else:
            use_pointwise(child)


def _is_pointwise(conv: nn.Conv2d) -> bool:
    return (
        conv.kernel_size == (1, 1)
        and conv.stride == (1, 1)
        and conv.groups == 1
        and conv.padding in ((0, 0), "same", "valid")
    )
