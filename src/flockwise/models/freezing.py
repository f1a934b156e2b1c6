"""Which of a model's tensors train: the others stay as they are, statistics of batches among them."""

import copy
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from flockwise.errors import InputError
from flockwise.models.travel import EVERYTHING

if TYPE_CHECKING:
    from torch import nn


class _Still:
    """Batch normalisation that does not train: it uses the statistics it came with, and keeps them."""

    def train(self, mode: bool = True) -> Any:
        """Stays as in evaluation."""
        return super().train(False)  # type: ignore[misc]


def frozen(module: "nn.Module", trains: Sequence[str] = EVERYTHING) -> tuple["nn.Module", frozenset[str]]:
    """The module with only the tensors that match a pattern left to train, and the names of all that never change.

    The module itself is not touched. Parameters that are frozen already stay so.
    """
    from torch.nn.modules.batchnorm import _BatchNorm

    still = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    if tuple(trains) == EVERYTHING:
        return module, frozenset(still)
    names = list(module.state_dict())
    for pattern in trains:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InputError(
                f"model.trains = {pattern!r}: no tensor is called so; there are {', '.join(names[:12])}"
            )
    still |= {name for name in names if not any(fnmatchcase(name, pattern) for pattern in trains)}
    made = copy.deepcopy(module)
    for name, parameter in made.named_parameters():
        parameter.requires_grad_(parameter.requires_grad and name not in still)
    for stem, part in made.named_modules():
        if isinstance(part, _BatchNorm) and f"{stem}.running_mean".lstrip(".") in still:
            kind = type(part)
            part.__class__ = type(f"Still{kind.__name__}", (_Still, kind), {})
            part.eval()
    return made, frozenset(still)
