"""What the last layer of a model sees of samples: its input there, sample by sample."""

import copy

import numpy as np
import torch
from torch import nn

from flockwise.errors import InputError
from flockwise.models.layout import Layout
from flockwise.training.inputs import as_tensor
from flockwise.types import Vector

_BATCH = 256


def last_layer(module: nn.Module) -> nn.Module:
    """The last part that trains; a module without another before it is refused."""
    holders = [
        part for part in module.modules() if any(p.requires_grad for p in part.parameters(recurse=False))
    ]
    if len(holders) < 2:
        raise InputError(
            "model: has one layer, so nothing lies before it; choose a deeper one, such as 'mlp'"
        )
    return holders[-1]


class Latents:
    """A module of its own, so that nothing of a trainer's is disturbed."""

    def __init__(self, module: nn.Module) -> None:
        self._module = copy.deepcopy(module).cpu().eval()
        self._layout = Layout.of(self._module)
        self._last = last_layer(self._module)

    def of(self, vector: Vector, x: np.ndarray) -> np.ndarray:
        """(samples, numbers) what the last layer gets."""
        self._layout.write(self._module, vector)
        seen: list[torch.Tensor] = []
        hook = self._last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].flatten(1)))
        try:
            with torch.inference_mode():
                for part in torch.split(as_tensor(x), _BATCH):
                    self._module(part.permute(0, 3, 1, 2) if part.dim() == 4 else part)
        finally:
            hook.remove()
        return np.asarray(torch.cat(seen).numpy())
