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
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from flockwise.models.layout import Layout
from flockwise.rng import generator
from flockwise.tasks import IGNORED, Task, classification
from flockwise.training.blocked import use_blocked
from flockwise.training.fused import use_fused
from flockwise.training.head import head_of, loss_sum
from flockwise.training.inputs import (
    accuracies,
    as_array,
    as_tensor,
    check_lengths,
    check_orders,
    check_samples,
)
from flockwise.training.memory import keep_freed_memory
from flockwise.training.modules import augmented, first_output, seed_of, takes_one_sample
from flockwise.training.normalised import RunSteps, use_normalised, use_run_steps
from flockwise.training.pointwise import PointwiseConv2d, stepping_convolutions, use_pointwise
from flockwise.training.recipe import Classes, Orders, Recipe, Samples
from flockwise.training.seeding import seeded
from flockwise.training.stepping import SteppingLinear, use_stepping
from flockwise.training.steps import Steps, steps_of
from flockwise.types import Vector

_EVALUATION_BATCH = 256


class GenericTrainer:
    """Trains copies of one module for a task (classification, if none is named); see `Trainer` for the contract."""

    def __init__(
        self, module: nn.Module, sample_shape: tuple[int, ...], device: str = "cpu", compiled: bool = False,
        task: Task | None = None,
    ) -> None:  # fmt: skip
        """`compiled` lets known runs of layers use the native kernels; afterwards it says whether there are any."""
        keep_freed_memory()
        self.task = task or classification()
        self._plain = self.task.kernels is None  # cross-entropy of softmax, for which there are faster ways
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
        self._head = head_of(self._module, flat=len(sample_shape) == 1) if self._plain else None
        if self._head:
            self._stepping = [steps for steps in self._stepping if steps is not self._head.layer]
        held = {entry.name for entry in self._layout.entries}
        # What a module remembers beside its vector must not pass from one client to the next.
        self._fixed = [(b, b.clone()) for name, b in self._module.named_buffers() if name not in held]
        self._parameters: list[torch.Tensor] = [p for p in self._module.parameters() if p.requires_grad]
        self.least = 1 if takes_one_sample(module, self._sample_shape) else 2

    def train(
        self, vector: Vector, x: Samples, y: Classes, orders: Orders, recipe: Recipe
    ) -> tuple[Vector, float]:
        """See `Trainer.train`. Dropout and the like draw from a generator seeded by the arguments."""
        check_samples(x, y, self._sample_shape, self.task)
        check_orders(orders, len(y), recipe)
        samples, classes = self._tensors(x, y)
        self._load(vector)
        self._module.train()
        if self._head:
            self._head.body.train()
        parameters = self._choose_steps(recipe)
        step = steps_of(parameters, recipe)
        paces = iter(recipe.factors(recipe.epochs * self._steps(len(y), recipe)) or ())
        mixed = recipe.precision == "mixed"
        seed = seed_of(vector, x, y, orders)
        rng = generator(seed, "augment")
        with seeded(seed, self._device):
            for epoch, order in enumerate(orders):
                seen: list[torch.Tensor] = []
                counted = 0
                for batch in self._batches(torch.from_numpy(np.array(order)).to(self._device), recipe):
                    for pace in itertools.islice(paces, 1):
                        self._set_pace(step, pace)
                    held = samples.index_select(0, batch)
                    if recipe.augment is not None:
                        held = augmented(recipe.augment, held, rng)
                    targets = classes.index_select(0, batch)
                    with torch.autocast(self._device.type, torch.bfloat16, enabled=mixed):
                        logits, gradients = self._gradients(self._images(held), targets, parameters)
                    step(gradients)
                    if epoch + 1 == recipe.epochs:
                        seen.append(self._loss_sum(logits, targets))
                        counted += self._counted(targets)
        trained = self._layout.read(self._module)
        loss = float(torch.stack(seen).double().sum()) / max(counted, 1)
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
        """Logits, classes by images, or for other tasks the mean loss; and the gradients of the latter."""
        if self._head and not torch.is_autocast_enabled(self._device.type):
            return self._head.gradients(images, classes, parameters)
        returned = self._module(images)
        outputs = returned if self.task.whole else first_output(returned)
        error = self.task.loss(outputs, classes)
        told = outputs.detach().t() if self._plain else error.detach()
        return told, torch.autograd.grad(error, parameters, materialize_grads=True)

    def _loss_sum(self, told: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """The loss of a batch, added up over what counts in it."""
        return loss_sum(told, targets) if self._plain else told * self._counted(targets)

    def _counted(self, targets: torch.Tensor) -> int:
        """How many targets count: samples, or steps that are not ignored."""
        return int((targets != IGNORED).sum()) if self.task.targets == "classes" else len(targets)

    def losses(self, vector: Vector, x: Samples, y: Classes) -> tuple[float, int]:
        """See `Trainer.losses`; batch normalisation uses its running statistics."""
        total, correct = 0.0, 0
        for logits, expected in self._evaluated(vector, x, y):
            total += float(functional.cross_entropy(logits, expected, reduction="sum"))
            correct += int((logits.argmax(1) == expected).sum())
        return total / len(y), correct

    def _evaluated(
        self, vector: Vector, x: Samples, y: Classes
    ) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """What the module says of each batch of samples, and their targets."""
        check_samples(x, y, self._sample_shape, self.task)
        samples, classes = self._tensors(x, y)
        self._load(vector)
        self._module.eval()
        with torch.inference_mode():
            batches = zip(
                torch.split(samples, _EVALUATION_BATCH), torch.split(classes, _EVALUATION_BATCH), strict=True
            )
            for images, expected in batches:
                returned = self._module(self._images(images))
                yield returned if self.task.whole else first_output(returned), expected

    def predictions(self, vector: Vector, x: Samples, y: Classes) -> tuple[NDArray, float]:
        """The task's predictions for samples, and their mean loss."""
        found, total, counted = [], 0.0, 0
        for outputs, expected in self._evaluated(vector, x, y):
            count = self._counted(expected)
            total += float(self.task.loss(outputs, expected)) * count
            counted += count
            found.append(self.task.predict(outputs).cpu().numpy())
        return np.concatenate(found), total / max(counted, 1)

    def measures(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """See `Trainer.measures`."""
        if self._plain:
            return accuracies(*self.losses_each(vector, x, y, lengths), lengths)
        check_lengths(lengths, len(y))
        rows = np.full((len(lengths), 2 + len(self.task.others)), np.nan)
        ends = np.cumsum(lengths)
        for part, (end, length) in enumerate(zip(ends.tolist(), lengths.tolist(), strict=True)):
            if length:
                held = slice(end - length, end)
                predicted, loss = self.predictions(vector, x[held], y[held])
                rows[part] = self.task.measured(predicted, as_array(y[held], None), loss)
        return rows

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
