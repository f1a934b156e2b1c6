"""What a model by name is: a function of the image shape and the number of classes.

Nothing here imports torch before a model is made, so that configs can be checked and models listed without it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from flockwise.errors import InputError, PluginError
from flockwise.plugins import nearest
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name, first_parameters

if TYPE_CHECKING:
    from torch import nn

ImageShape: TypeAlias = tuple[int, int, int]  # (channels, height, width)


@dataclass(frozen=True, eq=False, repr=False)
class ModelPiece(Piece):
    """An architecture by name that adapts to the image shape and the number of classes."""

    def __call__(self, input_shape: ImageShape, classes: int, **options: Any) -> "nn.Module":
        """A new module; its weights come from torch's global generator."""
        if len(input_shape) != 3 or min(input_shape) < 1:
            raise InputError(
                f"input_shape = {input_shape}: must be (channels, height, width), all at least 1"
            )
        if classes < 1:
            raise InputError(f"classes = {classes}: must be at least 1, what the model returns for a sample")
        module: nn.Module = self.function(input_shape, classes, **self.resolved(options, "model."))
        return module


MODELS: Registry[ModelPiece] = Registry("flockwise.models")


def model(
    summary: str, *, paper: str = "", example: Mapping[str, Any] | None = NO_OPTIONS
) -> Callable[[Callable[..., "nn.Module"]], ModelPiece]:
    """Makes a function `f(input_shape, classes)` a model by name."""

    def named(function: Callable[..., "nn.Module"]) -> ModelPiece:
        given = first_parameters(function, 2)
        return MODELS.add(
            ModelPiece(config_name(function), summary, function, given, paper=paper, example=example)
        )

    return named


def build(name: str, input_shape: ImageShape, classes: int, seed: int, **options: Any) -> "nn.Module":
    """A new model with torch's default initialisation, the same for the same seed; `options` are its own.

    torch's global generator is left as it was.

    >>> build("softmax", (1, 28, 28), classes=10, seed=0)[1]
    Linear(in_features=784, out_features=10, bias=True)
    """
    import torch

    if name not in MODELS:
        raise PluginError(f"model = {name!r}: not known; {nearest(name, list(MODELS))}")
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return MODELS[name](input_shape, classes, **options)
