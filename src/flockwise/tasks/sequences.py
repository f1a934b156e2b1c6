"""A class for every step of a sequence: labels of words, or the token that comes next."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from flockwise.options import NonNegative
from flockwise.scoring import Better
from flockwise.tasks.contract import IGNORED, Task, task
from flockwise.tasks.measures import accuracy, macro_f1, perplexity

if TYPE_CHECKING:
    import torch


@task("a class for every step of a sequence; steps labelled -100 do not count")
def sequence_labelling(
    weights: Annotated[list[NonNegative] | None, "how much a step of each class counts"] = None,
    score: Annotated[Literal["accuracy", "f1"], "what models are compared by"] = "accuracy",
) -> Task:
    """Cross-entropy of each step; outputs are (samples, steps, classes), labels (samples, steps)."""

    def loss(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        return stepwise(outputs, targets, weights)

    metrics = {"accuracy": accuracy, "f1": macro_f1}
    return Task(
        loss, metrics, score, "higher", 0.0, 1.0, _largest, "classes", kernels="a class for every step"
    )


@task("the token that comes next, at every step: perplexity")
def next_token(
    score: Annotated[Literal["perplexity", "accuracy"], "what models are compared by"] = "perplexity",
) -> Task:
    """Cross-entropy of the next token; labels are the tokens one step on (`flockwise.tasks.shifted` makes them)."""
    better: Better = "lower" if score == "perplexity" else "higher"
    low, high = (1.0, float("inf")) if score == "perplexity" else (0.0, 1.0)
    metrics: dict[str, Callable[..., float]] = {"perplexity": perplexity, "accuracy": accuracy}
    return Task(
        stepwise, metrics, score, better, low, high, _largest, "classes", kernels="a token for every step"
    )


def stepwise(
    outputs: "torch.Tensor", targets: "torch.Tensor", weights: list[float] | None = None
) -> "torch.Tensor":
    """Mean cross-entropy of the steps that count; 0 where none does."""
    from torch.nn import functional

    factors = None if weights is None else outputs.new_tensor(weights)
    flat, labels = outputs.reshape(-1, outputs.shape[-1]), targets.reshape(-1)
    total = functional.cross_entropy(flat, labels, factors, ignore_index=IGNORED, reduction="sum")
    known = labels != IGNORED
    if factors is None:
        return total / known.sum().clamp(min=1)
    return total / factors[labels[known]].sum().clamp(min=1e-12)


def _largest(outputs: Any) -> Any:
    return outputs.argmax(-1)
