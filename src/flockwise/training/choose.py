"""Which trainer a model gets, and why."""

import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.tasks import Task, classification
from flockwise.training.generic import GenericTrainer
from flockwise.training.modules import first_output
from flockwise.training.native import NativeTrainer, Unsupported, unfit_recipe
from flockwise.training.recipe import Recipe, Trainer
from flockwise.training.steps import made_optimizer


def choose_trainer(
    module: nn.Module,
    sample_shape: tuple[int, ...],
    recipe: Recipe,
    device: str = "cpu",
    prefer: str = "auto",
    task: Task | None = None,
) -> tuple[Trainer, str]:
    """The fastest trainer for this module, and one line that says which it is and why.

    `sample_shape` is (channels, height, width) or (features,). `prefer="native"` asks for the compiled
    kernels, but like `"auto"` it falls back to torch where they cannot serve; `"generic"` always uses torch.
    """
    task = task or classification()
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"engine.device = {device!r}: {str(error).splitlines()[0]}") from error
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise InputError("model: has no parameter that can be trained; all of them are frozen")
    if prefer not in ("auto", "native", "generic"):
        raise InputError(f"prefer = {prefer!r}: must be auto, native or generic")
    if len(sample_shape) not in (1, 3) or min(sample_shape) < 1:
        raise InputError(f"sample_shape = {sample_shape}: must be (channels, height, width) or (features,)")
    if prefer == "generic":
        reason = "as asked"
    elif task.kernels is not None:
        reason = f"task {task.name}: {task.kernels}"
    elif unfit := unfit_recipe(recipe):
        reason = unfit
    elif torch.device(device).type != "cpu":
        reason = f"the kernels run on the CPU, not on {device}"
    else:
        try:
            native = NativeTrainer(module, sample_shape)
            return native, f"native kernels ({native.instructions})"
        except Unsupported as unsupported:
            reason = str(unsupported)
    if recipe.make is not None:
        made_optimizer(recipe.make, [p for p in module.parameters() if p.requires_grad], recipe)
    _check_fits(module, sample_shape, task)
    generic = GenericTrainer(module, sample_shape, device, compiled=prefer != "generic", task=task)
    if recipe.batch_size < generic.least:
        raise InputError(
            f"training.batch_size = {recipe.batch_size}: must be at least {generic.least}, or batch normalisation in "
            "this model is left with a single value"
        )
    return generic, f"generic path{' with compiled steps' if generic.compiled else ''}: {reason}"


def _check_fits(module: nn.Module, sample_shape: tuple[int, ...], task: Task) -> None:
    """Let the module see an empty sample, so that one that cannot take it is told of here."""
    place, training = next(module.parameters()).device, module.training
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            result = module.eval()(torch.zeros(1, *sample_shape, device=place))
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"model: cannot take samples of shape {sample_shape}: {reason}") from error
    finally:
        module.train(training)
    if task.whole:
        return
    outputs = first_output(result)
    if not isinstance(outputs, torch.Tensor):
        raise InputError(
            f"model: returned {type(outputs).__name__}: must return a tensor, or a tuple whose first is one"
        )
    if task.targets == "class" and task.outputs is None and outputs.dim() != 2:
        raise InputError("model: must return one row of class scores for each sample")
    if task.targets == "class" and task.outputs is not None and outputs.numel() != task.outputs:
        raise InputError(
            f"model: returned {tuple(outputs.shape)} for a sample: task {task.name} needs {task.outputs} output"
        )
    if task.targets == "classes" and outputs.dim() != 3:
        raise InputError(
            f"model: returned {tuple(outputs.shape)} for a sample: task {task.name} needs (1, steps, classes)"
        )
