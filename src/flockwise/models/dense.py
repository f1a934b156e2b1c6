"""Models without convolutions: softmax regression and a perceptron with two hidden layers."""

from typing import TYPE_CHECKING

from flockwise.models.contract import ImageShape, model

if TYPE_CHECKING:
    from torch import nn


@model("softmax regression: one linear layer, convex")
def softmax(input_shape: ImageShape, classes: int) -> "nn.Module":
    """One linear layer on the flattened image; convex with cross-entropy, trained in microseconds."""
    from torch import nn

    channels, height, width = input_shape
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * width, classes))


@model("perceptron with two hidden layers of 200")
def mlp(input_shape: ImageShape, classes: int) -> "nn.Module":
    """Two hidden layers of 200, the "2NN" of McMahan et al., AISTATS 2017."""
    from torch import nn

    channels, height, width = input_shape
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * height * width, 200),
        nn.ReLU(),
        nn.Linear(200, 200),
        nn.ReLU(),
        nn.Linear(200, classes),
    )
