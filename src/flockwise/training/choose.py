"""Which trainer a model gets, and why."""

import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.training.generic import GenericTrainer
from flockwise.training.native import NativeTrainer, Unsupported
from flockwise.training.recipe import Recipe, Trainer


def choose_trainer(
    module: nn.Module,
    sample_shape: tuple[int, ...],
    recipe: Recipe,
    device: str = "cpu",
    prefer: str = "auto",
    tokens: bool = False,
) -> tuple[Trainer, str]:
    """The fastest trainer for this module, and one line that says which it is and why.

    `sample_shape` is (channels, height, width), (steps, channels) or (features,). `tokens` are whole numbers, for an
    embedding. `prefer="native"` asks for the compiled
    kernels, but like `"auto"` it falls back to torch where they cannot serve; `"generic"` always uses torch.
    """
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
    if prefer == "generic":
        reason = "as asked"
    elif tokens:
        reason = "the kernels take numbers, not tokens"
    elif len(sample_shape) == 2:
        reason = "the kernels take images and flat samples"
    elif recipe.optimizer != "sgd":
        reason = "the kernels descend along the gradient; Adam's steps are torch's"
    elif torch.device(device).type != "cpu":
        reason = f"the kernels run on the CPU, not on {device}"
    else:
        try:
            native = NativeTrainer(module, sample_shape)
            return native, f"native kernels ({native.instructions})"
        except Unsupported as unsupported:
            reason = str(unsupported)
    _check_fits(module, sample_shape, tokens)
    generic = GenericTrainer(module, sample_shape, device, compiled=prefer != "generic")
    if recipe.batch_size < generic.least:
        raise InputError(
            f"training.batch_size = {recipe.batch_size}: must be at least {generic.least}, or batch normalisation in "
            "this model is left with a single value"
        )
    return generic, f"generic path{' with compiled steps' if generic.compiled else ''}: {reason}"


def _check_fits(module: nn.Module, sample_shape: tuple[int, ...], tokens: bool) -> None:
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
    if not isinstance(result, torch.Tensor) or result.dim() != 2:
        raise InputError("model: must return one row of class scores for each sample")
