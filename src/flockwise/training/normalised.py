"""Runs of convolution, batch normalisation and rectifier in one compiled step, inside any module that torch trains."""

import ctypes
from typing import Any, NamedTuple

import torch
from torch import nn

from flockwise.errors import EngineError
from flockwise.native import load_library
from flockwise.training.native.loading import FLAGS
from flockwise.training.pointwise import PointwiseConv2d
from flockwise.training.stepping import is_hooked, unshared_parameters

_PAD = 16  # channels that the kernels take at a time


def use_normalised(module: nn.Module) -> bool:
    """Let each run of convolution, `nn.BatchNorm2d` and `nn.ReLU` in `nn.Sequential` be one step in training.

    Dense 1x1 and depthwise 3x3 convolutions, and a dense 3x3 at the start, as in MobileNet. In place; names and
    tensors of the parameters stay. False where there is no such run, or no compiler.
    """
    found = [use_normalised(child) for child in module.children()]
    kernels = load_library("flockwise.training.native", "normalised", FLAGS)[0]
    runs = _runs(list(module)) if type(module) is nn.Sequential and kernels is not None else []
    if runs:
        module.__class__ = NormalisedSequential
        assert isinstance(module, NormalisedSequential) and kernels is not None
        module.kernels, module.runs = kernels, runs
        found.append(True)
    return any(found)


class RunSteps:
    """The parameters of a run that the kernels move themselves, by `rate` times their gradients, unless it is None.

    No gradient of theirs is ever in memory, and autograd has little left to do.
    """

    rate: float | None = None

    def __init__(self, moved: list[torch.Tensor]) -> None:
        self.moved = moved


def use_run_steps(module: nn.Module) -> list[RunSteps]:
    """Let a run of an `nn.Sequential` that gets the samples themselves take its own steps; at most one.

    It is compiled for all that torch could train it with. The first layer leaves its gradients to autograd, which
    would not come by otherwise. All must be trained, by gradients from the run alone.
    """
    if not isinstance(module, NormalisedSequential):
        return []
    (start, stop), unshared = module.runs[0], unshared_parameters(module)
    layers = list(module)[:stop]
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    own = all(parameter.requires_grad and id(parameter) in unshared for parameter in parameters)
    in_place = all(_is_in_rows(layer) for layer in layers if isinstance(layer, nn.Conv2d))
    if start > 0 or not own or not in_place or not _takes_samples(layers[0]):
        return []
    module.steps = RunSteps([parameter for layer in layers[3:] for parameter in layer.parameters()])
    return [module.steps]


class NormalisedSequential(nn.Sequential):
    """The same function as `nn.Sequential`, up to rounding."""

    kernels: ctypes.CDLL
    runs: list[tuple[int, int]]  # first and last + 1 of the layers of each
    steps: RunSteps | None = None  # of the first run

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Evaluation takes the usual way."""
        layers, done = list(self), 0
        for start, stop in self.runs if self.training and torch.is_grad_enabled() else []:
            images = _apply(layers[done:start], images)
            triples = [_Triple(*layers[at : at + 3]) for at in range(start, stop, 3)]  # type: ignore[arg-type]
            # A norm may be frozen by hand while the rest is trained.
            if _fits_images(triples, images) and all(triple.norm.training for triple in triples):
                rate = self.steps.rate if self.steps and start == 0 else None
                images = _chained(self.kernels, triples, images, rate)
            else:
                images = _apply(layers[start:stop], images)
            done = stop
        return _apply(layers[done:], images)


class _Triple(NamedTuple):
    conv: nn.Conv2d
    norm: nn.BatchNorm2d
    relu: nn.ReLU


class _Layer(ctypes.Structure):
    """`ChainLayer` in chain.h."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in ("depthwise", "channels", "height", "width")),
        *((name, ctypes.c_int64) for name in ("outputs", "kernel", "stride")),
        *((name, ctypes.c_void_p) for name in ("weights", "norm_weight", "norm_bias")),
        *((name, ctypes.c_void_p) for name in ("running_mean", "running_variance")),
        *((name, ctypes.c_double) for name in ("epsilon", "momentum")),
        *((name, ctypes.c_void_p) for name in ("weight_target", "norm_weight_target", "norm_bias_target")),
        ("factor", ctypes.c_double),
    ]  # fmt: skip


def _chained(
    kernels: ctypes.CDLL, triples: list[_Triple], images: torch.Tensor, rate: float | None
) -> torch.Tensor:
    parameters = [tensor for t in triples[: None if rate is None else 1] for tensor in _parameters(t)]
    torch._foreach_add_([t.norm.num_batches_tracked for t in triples], 1)  # type: ignore[misc]
    result: torch.Tensor = _Chain.apply(kernels, triples, rate, images, *parameters)  # type: ignore[no-untyped-call]
    return result


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        kernels: ctypes.CDLL,
        triples: list[_Triple],
        rate: float | None,
        images: torch.Tensor,
        *parameters: torch.Tensor,
    ) -> torch.Tensor:
        pixels = images.permute(0, 2, 3, 1).contiguous()
        weights = [_rows(t.conv) for t in triples]
        layers = _layers(triples, pixels, weights)
        memory = torch.empty(_call(kernels, "floats", layers, len(pixels)))
        height, width = _size_after(layers[-1])
        result = torch.empty((len(pixels), height, width, layers[-1].outputs))
        _checked(kernels, "forward", layers, len(pixels), pixels, memory, result)
        ctx.save_for_backward(pixels, memory, *weights)
        ctx.kernels, ctx.triples, ctx.layers, ctx.rate = kernels, triples, layers, rate
        return result.permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        pixels, memory, *weights = ctx.saved_tensors
        gradient = gradients[0].permute(0, 2, 3, 1).contiguous()
        found: list[torch.Tensor] = []
        for at, (triple, layer, rows) in enumerate(zip(ctx.triples, ctx.layers, weights, strict=True)):
            if ctx.rate is None or at == 0:
                targets = [torch.zeros_like(rows), torch.zeros(layer.outputs), torch.zeros(layer.outputs)]
                found += [_like_torch(triple.conv, targets[0]), *targets[1:]]
                layer.factor = 1.0
            else:
                targets, layer.factor = [rows, triple.norm.weight, triple.norm.bias], -ctx.rate
            layer.weight_target, layer.norm_weight_target, layer.norm_bias_target = (
                t.data_ptr() for t in targets
            )
        back = torch.empty_like(pixels) if ctx.needs_input_grad[3] else None
        _checked(ctx.kernels, "backward", ctx.layers, len(pixels), pixels, memory, gradient, back)
        return None, None, None, back.permute(0, 3, 1, 2) if back is not None else None, *found


def _parameters(triple: _Triple) -> tuple[torch.Tensor, ...]:
    return triple.conv.weight, triple.norm.weight, triple.norm.bias


def _rows(conv: nn.Conv2d) -> torch.Tensor:
    """The weights as the kernels want them: mostly as they are."""
    weight = conv.weight.detach()
    return weight.contiguous() if conv.groups > 1 else weight.permute(0, 2, 3, 1).contiguous()


def _is_in_rows(conv: nn.Conv2d) -> bool:
    return _rows(conv).data_ptr() == conv.weight.data_ptr()


def _like_torch(conv: nn.Conv2d, rows: torch.Tensor) -> torch.Tensor:
    return rows if conv.groups > 1 else rows.permute(0, 3, 1, 2)


def _layers(
    triples: list[_Triple], pixels: torch.Tensor, weights: list[torch.Tensor]
) -> ctypes.Array[_Layer]:
    height, width = pixels.shape[1:3]
    layers = (_Layer * len(triples))()
    for layer, (conv, norm, _), rows in zip(layers, triples, weights, strict=True):
        layer.depthwise, layer.channels, layer.outputs = conv.groups > 1, conv.in_channels, conv.out_channels
        layer.height, layer.width = height, width
        layer.kernel, layer.stride = conv.kernel_size[0], conv.stride[0]
        layer.weights = rows.data_ptr()
        layer.norm_weight, layer.norm_bias = norm.weight.data_ptr(), norm.bias.data_ptr()
        assert norm.running_mean is not None and norm.running_var is not None and norm.momentum is not None
        layer.running_mean, layer.running_variance = norm.running_mean.data_ptr(), norm.running_var.data_ptr()
        layer.epsilon, layer.momentum = norm.eps, norm.momentum
        height, width = _size_after(layer)
    return layers


def _size_after(layer: _Layer) -> tuple[int, int]:
    return (layer.height - 1) // layer.stride + 1, (layer.width - 1) // layer.stride + 1


def _runs(layers: list[nn.Module]) -> list[tuple[int, int]]:
    """First and last + 1 of the longest runs of triples."""
    runs, start = [], 0
    while start + 3 <= len(layers):
        stop = start
        while _fits(layers[stop : stop + 3], first=stop == start):
            stop += 3
        if stop > start:
            runs.append((start, stop))
        start = max(stop, start + 1)
    return runs


def _fits(layers: list[nn.Module], first: bool) -> bool:
    if len(layers) < 3 or any(map(is_hooked, layers)):
        return False
    conv, norm, relu = layers
    if not isinstance(conv, nn.Conv2d) or type(norm) is not nn.BatchNorm2d or type(relu) is not nn.ReLU:
        return False
    if _has_its_own_way(conv):
        return False
    return (_is_depthwise(conv) or _is_dense(conv, first)) and _is_plain(conv) and _is_usual(norm)


def _has_its_own_way(conv: nn.Conv2d) -> bool:
    """Whether this is a convolution of another kind, such as one that standardises its weights."""
    return type(conv) not in (nn.Conv2d, PointwiseConv2d)


def _is_depthwise(conv: nn.Conv2d) -> bool:
    return (
        conv.groups == conv.in_channels == conv.out_channels > 1
        and conv.kernel_size == (3, 3)
        and (conv.padding == (1, 1) or conv.padding == "same")
    )


def _is_dense(conv: nn.Conv2d, first: bool) -> bool:
    one = conv.kernel_size == (1, 1) and conv.stride == (1, 1) and conv.padding in ((0, 0), "same", "valid")
    three = conv.kernel_size == (3, 3) and conv.padding in ((1, 1), "same")
    return conv.groups == 1 and (one or (first and three))


def _is_plain(conv: nn.Conv2d) -> bool:
    return (
        conv.bias is None
        and conv.stride in ((1, 1), (2, 2))
        and conv.dilation == (1, 1)
        and conv.padding_mode == "zeros"
        and conv.out_channels % _PAD == 0
        and conv.weight.dtype == torch.float32
    )


def _is_usual(norm: nn.BatchNorm2d) -> bool:
    return norm.affine and norm.track_running_stats and norm.momentum is not None


def _fits_images(triples: list[_Triple], images: torch.Tensor) -> bool:
    """Gradients of pictures, which have too few channels for the kernels, are torch's business."""
    if images.dim() != 4 or images.dtype != torch.float32 or images.device.type != "cpu" or not len(images):
        return False
    first, shrink = triples[0].conv, 1
    for conv, _, _ in triples:
        shrink *= conv.stride[0]
    pixels = len(images) * -(-images.shape[2] // shrink) * -(-images.shape[3] // shrink)
    wide = first.in_channels % _PAD == 0
    return (
        images.shape[1] == first.in_channels
        and pixels > 1  # torch refuses to normalise a single value
        and _takes_samples(first)
        and not (images.requires_grad and not (wide and (first.groups > 1 or first.kernel_size == (1, 1))))
    )


def _takes_samples(first: nn.Module) -> bool:
    """Whether the kernels can begin with this layer, as long as nobody asks for the gradient of what it gets."""
    return isinstance(first, nn.Conv2d) and (first.in_channels % _PAD == 0 or first.groups == 1)


def _apply(layers: list[nn.Module], images: torch.Tensor) -> torch.Tensor:
    for layer in layers:
        images = layer(images)
    return images


def _checked(
    kernels: ctypes.CDLL, name: str, layers: ctypes.Array[_Layer], batch: int, *tensors: torch.Tensor | None
) -> None:
    if _call(kernels, name, layers, batch, *tensors):
        raise EngineError("the kernels ran out of memory; use a smaller batch_size")


def _call(
    kernels: ctypes.CDLL, name: str, layers: ctypes.Array[_Layer], batch: int, *tensors: torch.Tensor | None
) -> int:
    function = kernels[f"flockwise_chain_{name}"]
    function.restype = ctypes.c_int64
    pointers = [ctypes.c_void_p(t.data_ptr() if t is not None else None) for t in tensors]
    return int(function(layers, ctypes.c_int64(len(layers)), ctypes.c_int64(batch), *pointers))
