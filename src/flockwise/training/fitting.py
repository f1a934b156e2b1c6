"""Whether a module takes a federation's samples and gives what its task needs, told before anybody trains."""

import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.tasks import Task
from flockwise.training.modules import first_output


def check_fits(
    module: nn.Module, sample_shape: tuple[int, ...], tokens: bool, task: Task, classes: int | None = None
) -> None:
    """Let the module see an empty sample, so that one that cannot take it is told of here."""
    place, training = next(module.parameters()).device, module.training
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            kind = torch.int64 if tokens else torch.float32
            result = module.eval()(torch.zeros(1, *sample_shape, dtype=kind, device=place))
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if not tokens and any(isinstance(part, nn.Embedding) for part in module.modules()):
            reason += "; for an embedding say inputs='tokens' where the data is brought"
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
    check_outputs(tuple(outputs.shape), task, classes)


def check_outputs(shape: tuple[int, ...], task: Task, classes: int | None = None) -> None:
    """Refuse what a module returns for one sample, if it is not what the task needs of so many classes."""
    if task.outputs is not None and shape not in ((1, task.outputs), (1,) if task.outputs == 1 else ()):
        raise InputError(
            f"model: returned {shape} for a sample: task {task.name} needs (1, {task.outputs}); give the model "
            f"{task.outputs} output{'s' if task.outputs > 1 else ''}"
        )
    if task.targets == "class" and task.outputs is None and len(shape) != 2:
        raise InputError("model: must return one row of class scores for each sample")
    if task.targets == "classes" and len(shape) != 3:
        raise InputError(
            f"model: returned {shape} for a sample: task {task.name} needs (1, steps, classes), a row of class scores "
            "for each step"
        )
    scored = task.outputs is None and task.targets in ("class", "classes")
    if scored and classes is not None and shape[-1] < classes:
        hint = "; for yes or no from one output say task='binary'" if (shape[-1], classes) == (1, 2) else ""
        raise InputError(
            f"model: returns {shape[-1]} class scores for a sample, but labels reach to {classes - 1}: give it {classes} "
            f"outputs{hint}"
        )
