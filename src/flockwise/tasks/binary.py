"""Yes or no for each sample."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from flockwise.options import Positive
from flockwise.tasks.contract import Task, task
from flockwise.tasks.measures import auc, f1

if TYPE_CHECKING:
    import torch

PositiveWeight = Annotated[Positive, "how much a positive sample counts beside a negative one"]


@task("yes or no for each sample, from one output: F1, AUC, accuracy")
def binary(
    score: Annotated[Literal["accuracy", "f1", "auc"], "what models are compared by"] = "accuracy",
    positive: PositiveWeight = 1.0,
) -> Task:
    """Logistic loss of one output, whose sign is the answer; predictions are probabilities. Labels are 0 and 1."""

    def loss(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        from torch.nn import functional

        logits = outputs.reshape(targets.shape)
        weight = logits.new_tensor(positive)
        return functional.binary_cross_entropy_with_logits(
            logits, targets.to(logits.dtype), pos_weight=weight
        )

    metrics = {"accuracy": _right, "f1": f1, "auc": auc}
    return Task(
        loss, metrics, score, "higher", 0.0, 1.0, _probability, "class", 1, kernels="one output, not softmax"
    )


def _probability(outputs: Any) -> Any:
    return outputs.reshape(len(outputs)).sigmoid()


def _right(predicted: np.ndarray, targets: np.ndarray) -> float:
    return float(((predicted > 0.5) == (targets > 0.5)).mean())
