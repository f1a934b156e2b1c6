"""Several yes-or-no labels for each sample."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from flockwise.options import Positive
from flockwise.tasks.contract import Task, task
from flockwise.tasks.measures import auc, f1

if TYPE_CHECKING:
    import torch


@task("several yes-or-no labels for each sample: F1, AUC")
def multi_label(
    score: Annotated[Literal["f1", "auc", "exact"], "what models are compared by"] = "f1",
    positive: Annotated[
        Positive | list[Positive], "how much a label that is there counts beside one that is not; one or each"
    ] = 1.0,
) -> Task:
    """Logistic loss of an output for each label; labels are rows of 0 and 1. F1 and AUC are means over labels."""

    def loss(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        from torch.nn import functional

        weight = outputs.new_tensor(positive)
        return functional.binary_cross_entropy_with_logits(
            outputs, targets.to(outputs.dtype), pos_weight=weight
        )

    metrics = {"f1": f1, "auc": auc, "exact": _exact}
    return Task(
        loss, metrics, score, "higher", 0.0, 1.0, _probabilities, "numbers", kernels="several labels a sample"
    )


def _probabilities(outputs: Any) -> Any:
    return outputs.sigmoid()


def _exact(predicted: np.ndarray, targets: np.ndarray) -> float:
    """Share of the samples whose labels are all right."""
    return float(((predicted > 0.5) == (targets > 0.5)).all(axis=1).mean())
