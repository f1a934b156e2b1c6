"""Models without convolutions: softmax regression and a perceptron with two hidden layers."""

from torch import nn


def softmax_regression(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """One linear layer on the flattened image; convex with cross-entropy, trained in microseconds."""
    channels, height, width = input_shape
    return nn.Sequential(nn.Flatten(), nn.Linear(channels * height * width, classes))


def perceptron(input_shape: tuple[int, int, int], classes: int) -> nn.Module:
    """Two hidden layers of 200, the "2NN" of McMahan et al., AISTATS 2017."""
    channels, height, width = input_shape
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(channels * height * width, 200),
        nn.ReLU(),
        nn.Linear(200, 200),
        nn.ReLU(),
        nn.Linear(200, classes),
    )
