"""Whether the kernels can train a module, and its layers as they need them."""

import math
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from torch import nn

from flockwise.models.layers.mixture import Mixture
from flockwise.models.layout import Layout
from flockwise.training.stepping import is_hooked


@dataclass(frozen=True)
class LayerSpec:
    """One layer with what follows it; the fields of `LayerSpec` in network.h, in their order."""

    convolution: int
    channels: int
    height: int
    width: int
    outputs: int
    kernel: int = 1
    padding: int = 0
    relu: int = 0
    pool: int = 1
    weight: int = 0
    bias: int = -1


class Unsupported(Exception):
    """Why the kernels cannot train a module, in a few words."""


@dataclass(frozen=True)
class Matched:
    """A module as the kernels need it."""

    layers: NDArray[np.int64]  # one row of `LayerSpec` fields each; of a mixture one part behind the other
    mix: NDArray[np.int64] | None = None  # the fields of `Mix` in mixture.h, if it is one


def match(module: nn.Module, sample_shape: tuple[int, ...]) -> Matched:
    """The layers of a module that the kernels can train; raises `Unsupported`."""
    places = {entry.name: entry.start for entry in Layout.of(module).entries}
    if type(module) is Mixture:
        return _mixture(module, sample_shape, places)
    if any(not parameter.requires_grad for parameter in module.parameters()):
        raise Unsupported("frozen parameters")
    return Matched(_layers(module, "", sample_shape, places))


def _mixture(module: Mixture, sample_shape: tuple[int, ...], places: dict[str, int]) -> Matched:
    """Parts of one kind, and where their shares lie; either may be frozen as a whole."""
    if any(is_hooked(held) for held in (module, module.parts, module.mix)):
        raise Unsupported("hooks")
    moves = {parameter.requires_grad for parameter in module.parts.parameters()}
    if len(moves) != 1:
        raise Unsupported("frozen parameters")
    parts = [_layers(part, f"parts.{n}", sample_shape, places) for n, part in enumerate(module.parts)]
    if any(part[:, :-2].tolist() != parts[0][:, :-2].tolist() for part in parts):
        raise Unsupported("a mixture of different models")
    if len({id(parameter) for parameter in module.parameters()}) != len(places):
        raise Unsupported("layers that share parameters")
    mix = (len(parts), places["mix.shares"], moves == {True}, module.mix.shares.requires_grad)
    return Matched(np.concatenate(parts), np.array(mix, dtype=np.int64))


def _layers(
    module: nn.Module, stem: str, sample_shape: tuple[int, ...], places: dict[str, int]
) -> NDArray[np.int64]:
    """A row for each layer of a module that is called `stem` in the whole."""
    shape, flat = (*sample_shape, 1, 1)[:3], len(sample_shape) == 1
    specs: list[LayerSpec] = []
    for name, layer in _leaves(module, stem):
        if isinstance(layer, nn.Conv2d):
            if flat:
                raise Unsupported("convolution behind a linear layer")
            if layer.in_channels != shape[0]:
                raise Unsupported(f"a convolution of {layer.in_channels} channels that gets {shape[0]}")
            specs.append(_convolution(layer, shape))
        elif isinstance(layer, nn.Linear):
            if not flat:
                raise Unsupported("linear layer on images that are not flattened")
            if layer.in_features != math.prod(shape):
                raise Unsupported(
                    f"a linear layer of {layer.in_features} inputs that gets {math.prod(shape)}"
                )
            specs.append(LayerSpec(0, shape[0], shape[1], shape[2], layer.out_features))
        elif isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) == (1, -1):
            flat = True
            continue
        elif isinstance(layer, nn.ReLU) and specs:
            specs[-1] = replace(specs[-1], relu=1)
            continue
        elif isinstance(layer, nn.MaxPool2d) and specs and specs[-1].convolution and not flat:
            _check_pool(layer, specs[-1])
            specs[-1] = replace(specs[-1], pool=2)
            shape = (shape[0], shape[1] // 2, shape[2] // 2)
            continue
        else:
            raise Unsupported(f"{type(layer).__name__} in this place")
        of = f"{name}." if name else ""  # a module that is a single layer has no name for it
        bias = places[f"{of}bias"] if layer.bias is not None else -1
        specs[-1] = replace(specs[-1], weight=places[f"{of}weight"], bias=bias)
        shape = _shape_after(specs[-1])
    _check_whole(module, specs)
    return np.array([astuple(spec) for spec in specs], dtype=np.int64)


def _leaves(module: nn.Module, name: str) -> Iterator[tuple[str, nn.Module]]:
    """The layers of nested `nn.Sequential`, with their names, in order."""
    if is_hooked(module):
        raise Unsupported("hooks")
    if type(module) is nn.Sequential:
        for child_name, child in module._modules.items():
            assert child is not None
            yield from _leaves(child, f"{name}.{child_name}" if name else child_name)
    elif type(module) in (nn.Conv2d, nn.Linear, nn.Flatten, nn.ReLU, nn.MaxPool2d):
        yield name, module
    elif type(module) is not nn.Identity:
        raise Unsupported(f"{type(module).__name__} is not among the supported layers")


def _convolution(layer: nn.Conv2d, shape: tuple[int, ...]) -> LayerSpec:
    kernel, padding = layer.kernel_size[0], layer.padding
    if padding == "same":
        padding = (kernel // 2, kernel // 2)
    elif padding == "valid":
        padding = (0, 0)
    simple = layer.stride == (1, 1) and layer.dilation == (1, 1) and layer.groups == 1
    square = layer.kernel_size == (kernel, kernel) and padding[0] == padding[1]
    if not (simple and square and kernel in (1, 3, 5, 7) and layer.padding_mode == "zeros"):
        raise Unsupported(f"{kernel}x{layer.kernel_size[1]} convolution with this stride, groups or padding")
    if min(shape[1:]) + 2 * int(padding[0]) < kernel:
        raise Unsupported("images smaller than the kernel")
    return LayerSpec(1, shape[0], shape[1], shape[2], layer.out_channels, kernel, int(padding[0]))


def _check_pool(layer: nn.MaxPool2d, before: LayerSpec) -> None:
    def is_pair(size: object, value: int) -> bool:
        return size in (value, (value, value))

    halves = is_pair(layer.kernel_size, 2) and is_pair(layer.stride, 2)
    plain = is_pair(layer.padding, 0) and is_pair(layer.dilation, 1) and not layer.ceil_mode
    if not halves or not plain or layer.return_indices:
        raise Unsupported("max-pooling other than 2x2")
    if before.pool == 2 or min(_shape_after(before)[1:]) < 2:
        raise Unsupported("2x2 max-pooling in this place")


def _shape_after(spec: LayerSpec) -> tuple[int, ...]:
    if not spec.convolution:
        return (spec.outputs, 1, 1)
    shrink = 2 * spec.padding - spec.kernel + 1
    return (spec.outputs, (spec.height + shrink) // spec.pool, (spec.width + shrink) // spec.pool)


def _check_whole(module: nn.Module, specs: list[LayerSpec]) -> None:
    if not specs or specs[-1].convolution or specs[-1].relu:
        raise Unsupported("no linear layer at the end")
    if not all(spec.channels and spec.outputs for spec in specs):
        raise Unsupported("layers of width 0")
    if len({id(parameter) for parameter in module.parameters()}) != sum(1 + (s.bias >= 0) for s in specs):
        raise Unsupported("layers that share parameters")
