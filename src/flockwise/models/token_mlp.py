"""A model of tokens: each gets a place in a small space, and a perceptron reads them all."""

from typing import TYPE_CHECKING, Annotated

from flockwise.models.contract import ImageShape, model
from flockwise.options import Count

if TYPE_CHECKING:
    from torch import nn


@model("an embedding of each token, then a perceptron: the next character", example=None)
def token_mlp(
    input_shape: ImageShape,
    classes: int,
    tokens: Annotated[Count | None, "different tokens; none: as many as classes"] = None,
    embedding: Annotated[Count, "numbers for each token"] = 16,
    hidden: Annotated[Count, "units of the hidden layer"] = 64,
) -> "nn.Module":
    """For short contexts of fixed length (Bengio et al., A neural probabilistic language model, JMLR 2003)."""
    from torch import nn

    steps = input_shape[0] * input_shape[1] * input_shape[2]
    return nn.Sequential(
        nn.Embedding(tokens or classes, embedding),
        nn.Flatten(),
        nn.Linear(steps * embedding, hidden),
        nn.ReLU(),
        nn.Linear(hidden, classes),
    )
