"""Convolutions in oneDNN's own memory layout, where the layers between them need no conversions."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from flockwise.training.stepping import is_hooked

Layer = Callable[[torch.Tensor], torch.Tensor]


def use_blocked(module: nn.Module) -> bool:
    """Let runs of convolutions, rectifiers and poolings in `nn.Sequential` train in blocks of channels.

    In place; names and tensors of the parameters stay. Only where it was measured to be faster than the
    channels last: with AVX2, but without AVX-512. True if any run was found.
    """
    if not torch._C._has_mkldnn or torch.backends.cpu.get_cpu_capability() != "AVX2":
        return False
    found = [use_blocked(child) for child in module.children()]
    if type(module) is nn.Sequential and _runs(list(module)):
        module.__class__ = BlockedSequential
        for start, stop in _runs(list(module)):
            for layer in list(module)[start:stop]:
                if isinstance(layer, nn.Conv2d):
                    layer.weight.data = layer.weight.data.contiguous()  # else converted for every batch
        found.append(True)
    return any(found)


class BlockedSequential(nn.Sequential):
    """The same function as `nn.Sequential`, up to rounding and to what becomes of NaN."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Evaluation takes the usual way, so that NaN shows."""
        layers = list(self)
        if not (self.training and torch.is_grad_enabled() and images.dim() == 4):
            return _apply(layers, images)
        done = 0
        for start, stop in _runs(layers):
            images = _apply(layers[done:start], images)
            images = _apply(_pooled_first(layers[start:stop]), images.to_mkldnn()).to_dense()
            done = stop
        return _apply(layers[done:], images)


def _apply(layers: list[nn.Module] | list[Layer], images: torch.Tensor) -> torch.Tensor:
    for layer in layers:
        images = layer(images)
    return images


def _pooled_first(layers: list[nn.Module]) -> list[Layer]:
    """The layers as functions; rectifiers in front of poolings come after them, where there is less to do."""
    order = list(layers)
    for i in range(len(order) - 1):
        if isinstance(order[i], nn.ReLU) and isinstance(order[i + 1], nn.MaxPool2d):
            order[i], order[i + 1] = order[i + 1], order[i]
    return [_function(layer) for layer in order]


def _function(layer: nn.Module) -> Layer:
    """What the layer does, in the words that blocked tensors understand."""
    if isinstance(layer, nn.Conv2d):
        conv, padding = layer, _padding(layer)
        return lambda images: functional.conv2d(images, conv.weight, conv.bias, conv.stride, padding)
    if isinstance(layer, nn.MaxPool2d):
        pool = layer
        return lambda images: functional.max_pool2d(images, pool.kernel_size, pool.stride, pool.padding)
    return functional.relu


def _runs(layers: list[nn.Module]) -> list[tuple[int, int]]:
    """First and last + 1 of the longest runs that start with a convolution and pool."""
    runs, start = [], 0
    while start < len(layers):
        stop = start
        while stop < len(layers) and _fits(layers[stop]):
            stop += 1
        if type(layers[start]) is nn.Conv2d and nn.MaxPool2d in map(type, layers[start:stop]):
            runs.append((start, stop))
        start = max(stop, start + 1)
    return runs


def _fits(layer: nn.Module) -> bool:
    if is_hooked(layer):
        return False
    if type(layer) is nn.Conv2d:
        return (
            layer.groups == 1
            and layer.dilation == (1, 1)
            and layer.padding_mode == "zeros"
            and (layer.padding != "same" or all(size % 2 for size in layer.kernel_size))
        )
    if type(layer) is nn.MaxPool2d:
        return layer.dilation in (1, (1, 1)) and not layer.ceil_mode and not layer.return_indices
    return type(layer) is nn.ReLU


def _padding(conv: nn.Conv2d) -> tuple[int, int]:
    if isinstance(conv.padding, str):
        height, width = conv.kernel_size
        return (height // 2, width // 2) if conv.padding == "same" else (0, 0)
    height, width = conv.padding
    return height, width
