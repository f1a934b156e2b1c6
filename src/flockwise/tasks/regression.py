"""Numbers to predict."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from flockwise.options import Positive
from flockwise.scoring import Better
from flockwise.tasks.contract import Task, task
from flockwise.tasks.measures import mean_absolute_error, r_squared, root_mean_squared_error

if TYPE_CHECKING:
    import torch

METRICS = {"mae": mean_absolute_error, "rmse": root_mean_squared_error, "r2": r_squared}


@task("numbers to predict: mean absolute error")
def regression(
    loss: Annotated[Literal["squared", "absolute", "huber"], "of a prediction's error"] = "squared",
    score: Annotated[Literal["mae", "rmse", "r2"], "what models are compared by"] = "mae",
    delta: Annotated[Positive, "huber: errors above it count linearly"] = 1.0,
) -> Task:
    """One number a sample, or several: the model returns as many. Scale targets to about 1 first; SGD is no magician."""

    def error(outputs: "torch.Tensor", targets: "torch.Tensor") -> "torch.Tensor":
        from torch.nn import functional

        predictions = outputs.reshape(targets.shape)
        if loss == "squared":
            return functional.mse_loss(predictions, targets)
        if loss == "absolute":
            return functional.l1_loss(predictions, targets)
        return functional.huber_loss(predictions, targets, delta=delta)

    better: Better = "higher" if score == "r2" else "lower"
    low, high = (float("-inf"), 1.0) if score == "r2" else (0.0, float("inf"))
    return Task(error, METRICS, score, better, low, high, _numbers, "numbers", kernels="not classification")


def _numbers(outputs: Any) -> Any:
    return outputs.squeeze(-1) if outputs.dim() == 2 and outputs.shape[1] == 1 else outputs
