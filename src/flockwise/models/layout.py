"""A model as one flat float32 vector, the form in which models travel and are averaged.

The vector holds every floating point entry of `state_dict()` in its order: the parameters, and the
running statistics of batch normalisation, so that these are averaged like weights. Whole-number buffers
are local: they are not in the vector. Writing a vector sets the counter of batch normalisation to zero and
leaves others (indices, masks) as they are.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flockwise.errors import InputError
from flockwise.types import Vector

if TYPE_CHECKING:
    from torch import nn

_COUNTER = "num_batches_tracked"


@dataclass(frozen=True)
class Entry:
    """One tensor of a model and its place in the vector: `vector[start:stop]`, row-major."""

    name: str
    shape: tuple[int, ...]
    start: int
    stop: int
    trainable: bool


@dataclass(frozen=True)
class Layout:
    """Where each tensor of a model lies in its vector."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, module: "nn.Module") -> "Layout":
        """The layout of this module; equal for modules of the same architecture."""
        trainable = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
        entries, start = [], 0
        for name, tensor in module.state_dict().items():
            if tensor.is_floating_point():
                stop = start + tensor.numel()
                entries.append(Entry(name, tuple(tensor.shape), start, stop, name in trainable))
                start = stop
        return cls(tuple(entries))

    @property
    def size(self) -> int:
        """How many numbers the vector holds."""
        return self.entries[-1].stop if self.entries else 0

    def read(self, module: "nn.Module") -> Vector:
        """A new vector with the module's present values."""
        import torch

        state = module.state_dict()
        vector = np.empty(self.size, dtype=np.float32)
        target = torch.from_numpy(vector)
        for entry in self.entries:
            target[entry.start : entry.stop].view(entry.shape).copy_(state[entry.name])
        return vector

    def write(self, module: "nn.Module", vector: Vector) -> None:
        """Copy the vector's values into the module; counters of batches become zero."""
        import torch

        if vector.shape != (self.size,):
            raise InputError(f"vector of shape {vector.shape}: this model needs ({self.size},)")
        state = module.state_dict()
        # torch warns about read-only arrays, which it only reads here: a copy of a view is cheap.
        source = torch.from_numpy(vector if vector.flags.writeable else vector.copy())
        with torch.no_grad():
            for entry in self.entries:
                state[entry.name].copy_(source[entry.start : entry.stop].view(entry.shape))
            for name, tensor in state.items():
                if name.rpartition(".")[2] == _COUNTER:
                    tensor.zero_()
