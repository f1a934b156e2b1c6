"""Convolution, rectifier and 2x2 maximum in one compiled step, inside any module that torch trains."""

import ctypes
from typing import Any

import torch
from torch import nn

from flockwise.errors import EngineError
from flockwise.training.native.loading import load_kernels
from flockwise.training.native.match import Unsupported
from flockwise.training.stepping import is_hooked

_PAD = 16  # channels that the kernels take at a time


def use_fused(module: nn.Module) -> bool:
    """Let each run of convolution, `nn.ReLU` and 2x2 `nn.MaxPool2d` in `nn.Sequential` be one step in training.

    In place; names and tensors of the parameters stay. False where there is no such run, or no compiler.
    """
    found = [use_fused(child) for child in module.children()]
    if type(module) is nn.Sequential and _starts(list(module)) and _kernels() is not None:
        module.__class__ = FusedSequential
        found.append(True)
    return any(found)


class FusedSequential(nn.Sequential):
    """The same function as `nn.Sequential`, up to rounding."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Evaluation takes the usual way."""
        layers, place = list(self), 0
        starts = _starts(layers) if self.training and torch.is_grad_enabled() else set()
        while place < len(layers):
            layer = layers[place]
            if place in starts and isinstance(layer, nn.Conv2d) and _fits_images(layer, images):
                images = _Fused.apply(images, layer.weight, layer.bias, _padding(layer))  # type: ignore[no-untyped-call]
                place += 3
            else:
                images = layer(images)
                place += 1
        return images


class _Fused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, images: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, padding: int
    ) -> torch.Tensor:
        pixels = images.permute(0, 2, 3, 1).contiguous()
        weights = weight.contiguous()
        spec = _spec(pixels, weights, padding)
        count, (height, width) = len(pixels), _pooled(pixels, weights, padding)
        result = torch.empty((count, height, width, len(weights)))
        choices = torch.empty(result.shape, dtype=torch.uint8)
        _call("flockwise_block_forward", spec, count, weights, bias, pixels, result, choices)
        ctx.save_for_backward(pixels, weights, choices)
        ctx.padding, ctx.biased = padding, bias is not None
        return result.permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        pixels, weights, choices = ctx.saved_tensors
        gradient = gradients[0].permute(0, 2, 3, 1).contiguous()
        weight_gradient, bias_gradient = torch.empty_like(weights), torch.empty(len(weights))
        back = torch.empty_like(pixels) if ctx.needs_input_grad[0] else None
        spec = _spec(pixels, weights, ctx.padding)
        _call("flockwise_block_backward", spec, len(pixels), weights, pixels, choices, gradient, weight_gradient,
              bias_gradient, back)  # fmt: skip
        images = back.permute(0, 3, 1, 2) if back is not None else None
        return images, weight_gradient, bias_gradient if ctx.biased else None, None


def _starts(layers: list[nn.Module]) -> set[int]:
    """Where a run begins; the order of rectifier and maximum makes no difference."""
    return {
        place
        for place in range(len(layers) - 2)
        if _fits(layers[place])
        and {type(layers[place + 1]), type(layers[place + 2])} == {nn.ReLU, nn.MaxPool2d}
        and all(_plain(layer) for layer in layers[place : place + 3])
    }


def _fits(layer: nn.Module) -> bool:
    if type(layer) is not nn.Conv2d:
        return False
    kernel = layer.kernel_size[0]
    return (
        layer.kernel_size in ((3, 3), (5, 5))
        and layer.stride == (1, 1)
        and layer.dilation == (1, 1)
        and layer.groups == 1
        and layer.padding_mode == "zeros"
        and layer.padding in ("same", "valid", (0, 0), (kernel // 2, kernel // 2))
        and layer.out_channels % _PAD == 0
        and (layer.in_channels in (1, 3) or layer.in_channels % _PAD == 0)
        and layer.weight.dtype == torch.float32
    )


def _plain(layer: nn.Module) -> bool:
    if is_hooked(layer):
        return False
    if not isinstance(layer, nn.MaxPool2d):
        return True
    halves = layer.kernel_size in (2, (2, 2)) and layer.stride in (2, (2, 2)) and layer.padding in (0, (0, 0))
    return halves and layer.dilation in (1, (1, 1)) and not layer.ceil_mode and not layer.return_indices


def _fits_images(layer: nn.Conv2d, images: torch.Tensor) -> bool:
    """Gradients of pictures, which have too few channels for the kernels, are torch's business."""
    return (
        images.dim() == 4
        and images.dtype == torch.float32
        and images.device.type == "cpu"
        and len(images) > 0
        and images.shape[1] == layer.in_channels
        and min(images.shape[2:]) + 2 * _padding(layer) > layer.kernel_size[0]
        and not (images.requires_grad and layer.in_channels % _PAD)
    )


def _padding(layer: nn.Conv2d) -> int:
    if isinstance(layer.padding, str):
        return layer.kernel_size[0] // 2 if layer.padding == "same" else 0
    return int(layer.padding[0])


def _pooled(pixels: torch.Tensor, weights: torch.Tensor, padding: int) -> tuple[int, int]:
    shrink = 2 * padding - weights.shape[2] + 1
    return (pixels.shape[1] + shrink) // 2, (pixels.shape[2] + shrink) // 2


def _spec(pixels: torch.Tensor, weights: torch.Tensor, padding: int) -> ctypes.Array[ctypes.c_int64]:
    """The fields of `LayerSpec` in network.h, in their order."""
    _, height, width, channels = pixels.shape
    return (ctypes.c_int64 * 11)(
        1, channels, height, width, len(weights), weights.shape[2], padding, 1, 2, 0, 0
    )


def _call(name: str, spec: ctypes.Array[ctypes.c_int64], count: int, *tensors: torch.Tensor | None) -> None:
    pointers = [ctypes.c_void_p(t.data_ptr() if t is not None else None) for t in tensors]
    kernels = _kernels()
    assert kernels is not None
    if kernels[name](spec, ctypes.c_int64(count), *pointers):
        raise EngineError("the kernels ran out of memory; use a smaller batch_size")


def _kernels() -> ctypes.CDLL | None:
    try:
        return load_kernels()[0]
    except Unsupported:
        return None
