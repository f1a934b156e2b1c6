"""A model of series: convolutions along the time, over all sensors at once."""

from typing import TYPE_CHECKING, Annotated

from flockwise.errors import InputError
from flockwise.models.contract import ImageShape, model
from flockwise.options import Count

if TYPE_CHECKING:
    from torch import nn


@model("two convolutions along the time of a series, then a linear layer", example=None)
def series_cnn(
    input_shape: ImageShape,
    classes: int,
    filters: Annotated[Count, "of each convolution"] = 16,
    width: Annotated[Count, "readings that a filter sees"] = 5,
) -> "nn.Module":
    """For samples (steps, sensors); the input shape is (1, steps, sensors)."""
    from torch import nn

    _, steps, sensors = input_shape
    second = ((steps - width + 1) // 2 - width + 1) // 2  # steps behind both convolutions
    if second < 1:
        raise InputError(f"model.width = {width}: series of {steps} steps are too short for it; lower it")
    return nn.Sequential(
        nn.Unflatten(1, (1, steps)),
        nn.Conv2d(1, filters, (width, sensors)),
        nn.ReLU(),
        nn.MaxPool2d((2, 1)),
        nn.Conv2d(filters, filters, (width, 1)),
        nn.ReLU(),
        nn.MaxPool2d((2, 1)),
        nn.Flatten(),
        nn.Linear(filters * second, classes),
    )
