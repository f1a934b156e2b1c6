"""Which trainer a model gets, and why."""

import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.tasks import Task, classification
from flockwise.training.fitting import check_fits, check_outputs
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer, Unsupported, unfit_recipe
from flockwise.training.recipe import Recipe, Trainer
from flockwise.training.steps import made_optimizer


def choose_trainer(
    module: nn.Module,
    sample_shape: tuple[int, ...],
    recipe: Recipe,
    device: str = "cpu",
    prefer: str = "auto",
    tokens: bool = False,
    task: Task | None = None,
    classes: int | None = None,
) -> tuple[Trainer, str]:
    """The fastest trainer for this module and task, and one line that says which it is and why.

    `sample_shape` is (channels, height, width), (steps, channels) or (features,). `tokens` are whole numbers, for an
    embedding. Without a `task` it is classification, of so many `classes` where that is known. `prefer="native"` asks for
    the compiled kernels, but like `"auto"` it falls back to torch where they cannot serve; `"generic"` always uses torch.
    """
    task = task or classification()
    _check_wishes(module, sample_shape, device, prefer)
    reason = "as asked" if prefer == "generic" else _unfit(sample_shape, recipe, device, tokens, task)
    if reason is None:
        try:
            native = NativeTrainer(module, sample_shape)
            check_outputs((1, native.classes), task, classes)
            return native, f"native kernels ({native.instructions})"
        except Unsupported as unsupported:
            reason = str(unsupported)
    if recipe.precision == "mixed" and torch.device(device).type == "cpu":
        raise InputError(
            "training.precision = 'mixed': needs a GPU, such as engine.device = 'cuda'; on the CPU leave it out"
        )
    if recipe.make is not None:
        made_optimizer(recipe.make, [p for p in module.parameters() if p.requires_grad], recipe)
    check_fits(module, sample_shape, tokens, task, classes)
    generic = GenericTrainer(module, sample_shape, device, compiled=prefer != "generic", task=task)
    if recipe.batch_size < generic.least:
        raise InputError(
            f"training.batch_size = {recipe.batch_size}: must be at least {generic.least}, or batch normalisation in "
            "this model is left with a single value"
        )
    return generic, f"generic path{' with compiled steps' if generic.compiled else ''}: {reason}"


def _check_wishes(module: nn.Module, sample_shape: tuple[int, ...], device: str, prefer: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"engine.device = {device!r}: {str(error).splitlines()[0]}") from error
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise InputError("model: has no parameter that can be trained; all of them are frozen")
    if prefer not in ("auto", "native", "generic"):
        raise InputError(f"prefer = {prefer!r}: must be auto, native or generic")
    if not 1 <= len(sample_shape) <= 3 or min(sample_shape) < 1:
        raise InputError(
            f"sample_shape = {sample_shape}: must be (channels, height, width), (steps, channels) or (features,)"
        )


def _unfit(
    sample_shape: tuple[int, ...], recipe: Recipe, device: str, tokens: bool, task: Task
) -> str | None:
    """Why the kernels cannot serve, whatever the module is; None if they may."""
    if task.kernels is not None:
        return f"task {task.name}: {task.kernels}"
    if tokens:
        return "the kernels take numbers, not tokens"
    if len(sample_shape) == 2:
        return "the kernels take images and flat samples"
    if torch.device(device).type != "cpu":
        return f"the kernels run on the CPU, not on {device}"
    if recipe.precision == "mixed":
        return "mixed precision"
    return unfit_recipe(recipe)
