"""Local training of any module with torch.

Faster than the usual loop because there is no DataLoader and no optimiser object, because images have their
channels last in memory or in blocks, because 1x1 convolutions are matrix products, because large linear
layers, 1x1 convolutions and compiled runs take their own steps, because the last layer does without
autograd, and because convolutions with rectifier and maximum or batch normalisation use the native kernels
where there are any. One model at a time on one thread: batching several clients (vmap), torch.compile and
intra-op threads were all slower when measured.
"""

import copy
import itertools
import math
import zlib

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from flockwise.models.layout import Layout
from flockwise.training.blocked import use_blocked
from flockwise.training.fused import use_fused
from flockwise.training.head import head_of, loss_sum
from flockwise.training.inputs import as_tensor, check_lengths, check_orders, check_samples
from flockwise.training.memory import keep_freed_memory
from flockwise.training.normalised import RunSteps, use_normalised, use_run_steps
from flockwise.training.pointwise import PointwiseConv2d, stepping_convolutions, use_pointwise
from flockwise.training.recipe import Classes, Orders, Recipe, Samples
from flockwise.training.stepping import SteppingLinear, use_stepping
from flockwise.training.steps import Steps, steps_of
from flockwise.types import Vector

_EVALUATION_BATCH = 256


class GenericTrainer:
    """Trains copies of one module with stochastic gradient descent; see `Trainer` for the contract."""

    def __init__(
        self, module: nn.Module, sample_shape: tuple[int, ...], device: str = "cpu", compiled: bool = False
    ) -> None:
        """`compiled` lets known runs of layers use the native kernels; afterwards it says whether there are any."""
        keep_freed_memory()
        self._layout = Layout.of(module)
        self._sample_shape = tuple(sample_shape)
        self._device = torch.device(device)
        self._module = copy.deepcopy(module).to(self._device)
        use_pointwise(self._module)
        self._stepping: list[SteppingLinear | PointwiseConv2d | RunSteps] = [*use_stepping(self._module)]
        if len(sample_shape) == 3:
            self._module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.compiled = False
        if compiled and self._device.type == "cpu":
            self.compiled = any([use_normalised(self._module), use_fused(self._module)])
            self._stepping += use_run_steps(self._module)
        if not self.compiled:
            self._stepping += stepping_convolutions(self._module)
        self._blocked = self._device.type == "cpu" and use_blocked(self._module)
        self._head = head_of(self._module, flat=len(sample_shape) == 1)
        if self._head:
            self._stepping = [steps for steps in self._stepping if steps is not self._head.layer]
        held = {entry.name for entry in self._layout.entries}
        # What a module remembers beside its vector must not pass from one client to the next.
        self._fixed = [(b, b.clone()) for name, b in self._module.named_buffers() if name not in held]
        self._parameters: list[torch.Tensor] = [p for p in self._module.parameters() if p.requires_grad]
        self.least = 1 if _takes_one_sample(module, self._sample_shape) else 2

    def train(
        self, vector: Vector, x: Samples, y: Classes, orders: Orders, recipe: Recipe
    ) -> tuple[Vector, float]:
        """See `Trainer.train`. Dropout and the like draw from a generator seeded by the arguments."""
        check_samples(x, y, self._sample_shape)
        check_orders(orders, len(y), recipe)
        samples, classes = self._tensors(x, y)
        self._load(vector)
        self._module.train()
        if self._head:
            self._head.body.train()
        parameters = self._choose_steps(recipe)
        step = steps_of(parameters, recipe)
        paces = iter(recipe.factors(recipe.epochs * self._steps(len(y), recipe)) or ())
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(_seed(vector, x, y, orders))
            for epoch, order in enumerate(orders):
                seen: list[torch.Tensor] = []
                for batch in self._batches(torch.from_numpy(np.array(order)).to(self._device), recipe):
                    for pace in itertools.islice(paces, 1):
                        self._set_pace(step, pace)
                    images = self._images(samples.index_select(0, batch))
                    logits, gradients = self._gradients(images, classes.index_select(0, batch), parameters)
                    step(gradients)
                    if epoch + 1 == recipe.epochs:
                        seen.append(loss_sum(logits, classes.index_select(0, batch)))
        trained, loss = self._layout.read(self._module), float(torch.stack(seen).double().sum()) / len(y)
        # Blocked rectifiers make zero of NaN, which must not hide that training diverged.
        return trained, math.nan if self._blocked and not np.isfinite(trained).all() else loss

    def _load(self, vector: Vector) -> None:
        self._layout.write(self._module, vector)
        with torch.no_grad():
            for buffer, value in self._fixed:
                buffer.copy_(value)

    def _batches(self, order: torch.Tensor, recipe: Recipe) -> list[torch.Tensor]:
        batches = list(torch.split(order, recipe.batch_size))
        if len(batches) > 1 and len(batches[-1]) < self.least:
            batches[-2:] = [torch.cat(batches[-2:])]
        return batches

    def _steps(self, samples: int, recipe: Recipe) -> int:
        """How many batches an epoch has."""
        steps, rest = divmod(samples, recipe.batch_size)
        return max(steps + (rest >= self.least), 1)

    def _set_pace(self, step: Steps, pace: float) -> None:
        step.pace = pace
        for steps in self._stepping:
            steps.rate = step.rate if steps.rate is not None else None

    def _gradients(
        self, images: torch.Tensor, classes: torch.Tensor, parameters: list[torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """Logits, classes by images, and the gradients of their mean cross-entropy."""
        if self._head:
            return self._head.gradients(images, classes, parameters)
        logits = self._module(images)
        error = functional.cross_entropy(logits, classes)
        return logits.detach().t(), torch.autograd.grad(error, parameters, materialize_grads=True)

    def losses(self, vector: Vector, x: Samples, y: Classes) -> tuple[float, int]:
        """See `Trainer.losses`; batch normalisation uses its running statistics."""
        check_samples(x, y, self._sample_shape)
        samples, classes = self._tensors(x, y)
        self._load(vector)
        self._module.eval()
        total, correct = 0.0, 0
        with torch.inference_mode():
            batches = zip(
                torch.split(samples, _EVALUATION_BATCH), torch.split(classes, _EVALUATION_BATCH), strict=True
            )
            for images, expected in batches:
                logits = self._module(self._images(images))
                total += float(functional.cross_entropy(logits, expected, reduction="sum"))
                correct += int((logits.argmax(1) == expected).sum())
        return total / len(y), correct

    def losses_each(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """See `Trainer.losses_each`."""
        check_lengths(lengths, len(y))
        losses, correct = np.zeros(len(lengths)), np.zeros(len(lengths), dtype=np.int64)
        ends = np.cumsum(lengths)
        for part, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
            if length:
                losses[part], correct[part] = self.losses(
                    vector, x[end - length : end], y[end - length : end]
                )
        return losses, correct

    def _choose_steps(self, recipe: Recipe) -> list[torch.Tensor]:
        """Let layers take their own steps if these need the gradient alone; the other parameters."""
        for steps in self._stepping:
            steps.rate = recipe.rate if recipe.plain else None
        own = {id(parameter) for steps in self._stepping if recipe.plain for parameter in steps.moved}
        return [parameter for parameter in self._parameters if id(parameter) not in own]

    def _tensors(self, x: Samples, y: Classes) -> tuple[torch.Tensor, torch.Tensor]:
        return as_tensor(x).to(self._device), as_tensor(y).to(self._device)

    def _images(self, samples: torch.Tensor) -> torch.Tensor:
        """What the module expects: (n, channels, height, width), still with the channels last in memory."""
        return samples.permute(0, 3, 1, 2) if samples.dim() == 4 else samples


def _seed(vector: Vector, x: Samples, y: Classes, orders: Orders) -> int:
    """Differs from round to round (the model moves) and from client to client, whatever their number of samples."""
    seed = 0
    for part in (orders, vector, x[:16], y):
        seed = zlib.crc32(np.ascontiguousarray(part).data, seed)
    return seed


def _takes_one_sample(module: nn.Module, sample_shape: tuple[int, ...]) -> bool:
    """Batch normalisation refuses to learn from a single value; whether it would get one depends on the image."""
    if not any(isinstance(part, _BatchNorm) for part in module.modules()):
        return True
    place = next(module.parameters(), torch.empty(0)).device
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            copy.deepcopy(module).train()(torch.zeros(1, *sample_shape, device=place))
    except Exception as error:  # whatever else does not fit will show in training, where it is told of
        return "more than 1 value" not in str(error)
    return True
