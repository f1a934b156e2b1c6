"""What must be known of a module and its data before it trains."""

import copy
import zlib
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from flockwise.errors import InputError
from flockwise.training.recipe import Augment, Classes, Orders, Samples
from flockwise.types import Vector


def first_output(returned: Any) -> Any:
    """What a module says: its first tensor where it returns several, or what it calls logits."""
    if isinstance(returned, tuple | list) and returned:
        return first_output(returned[0])
    if not isinstance(returned, torch.Tensor):
        return getattr(returned, "logits", returned.get("logits") if isinstance(returned, dict) else returned)
    return returned


def augmented(change: Augment, samples: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """A batch of samples, changed by a user's function; InputError if it is not a batch of that shape any more."""
    try:
        changed = np.asarray(change(samples.cpu().numpy().copy(), rng))
    except Exception as error:
        raise InputError(f"training.augment: {type(error).__name__}: {error}") from error
    if changed.shape != tuple(samples.shape):
        raise InputError(
            f"training.augment: made samples of shape {changed.shape} of {tuple(samples.shape)}: must be the same"
        )
    return torch.from_numpy(np.ascontiguousarray(changed)).to(samples.device, samples.dtype)


def seed_of(vector: Vector, x: Samples, y: Classes, orders: Orders) -> int:
    """Differs from round to round (the model moves) and from client to client, whatever their number of samples."""
    seed = 0
    for part in (orders, vector, x[:16], y):
        seed = zlib.crc32(np.ascontiguousarray(part).data, seed)
    return seed


def takes_one_sample(module: nn.Module, sample_shape: tuple[int, ...]) -> bool:
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
