"""Models without convolutions: softmax regression and a perceptron with two hidden layers."""

from typing import TYPE_CHECKING, Annotated

from flockwise.models.contract import ImageShape, model
from flockwise.options import Count

if TYPE_CHECKING:
    from torch import nn


@model("softmax regression: one linear layer, convex")
def softmax(input_shape: ImageShape, classes: int) -> "nn.Module":
    """One linear layer on the flattened image; convex with cross-entropy, trained in microseconds."""
    from torch import nn

    channels, height, width = input_shape
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * width, classes))


@model("perceptron with two hidden layers")
def mlp(
    input_shape: ImageShape, classes: int, hidden: Annotated[Count, "units of each hidden layer"] = 200
) -> "nn.Module":
    """Two hidden layers; of 200 units, the "2NN" of McMahan et al., AISTATS 2017."""
    from torch import nn

    channels, height, width = input_shape
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * height * width, hidden),
        nn.ReLU(),
        nn.Linear(hidden, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )
