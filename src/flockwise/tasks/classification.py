"""One of several classes for each sample: softmax and cross-entropy."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from flockwise.options import NonNegative
from flockwise.tasks.contract import Task, task
from flockwise.tasks.measures import accuracy, macro_f1

if TYPE_CHECKING:
    import torch

Weights = Annotated[list[NonNegative] | None, "how much a sample of each class counts, class by class"]


@task("one of several classes for each sample: accuracy")
def classification(
    weights: Weights = None,
    score: Annotated[Literal["accuracy", "f1"], "what models are compared by"] = "accuracy",
) -> Task:
    """Cross-entropy of softmax; `weights` lets rare classes count for more, and `f1` is the mean over classes."""

    def loss(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        from torch.nn import functional

        factors = None if weights is None else outputs.new_tensor(weights)
        return functional.cross_entropy(outputs, targets, factors)

    others = {"f1": macro_f1} if score == "f1" else {}
    why = "class weights" if weights is not None else "the score is not accuracy" if others else None
    return Task(
        loss, {"accuracy": accuracy, **others}, score, "higher", 0.0, 1.0, _largest, "class", kernels=why
    )


def _largest(outputs: Any) -> Any:
    return outputs.argmax(1)
