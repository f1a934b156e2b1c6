"""What a task is: a loss, metrics, which of them is the score and which way is better, and what predictions are.

    Task(loss=pinball, metrics={"coverage": coverage}, score="coverage", better="higher")
    regression(score="rmse")                        # one by name, with its options

Functions of torch tensors train (`loss`, `predict`), functions of NumPy arrays measure (`metrics`). A metric asks for
what it needs by naming it: `predicted`, `targets`, `loss` (the mean loss). Nothing here imports torch before a
function is called, so that configs can be checked without it.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flockwise.errors import InputError, PluginError
from flockwise.options import plain
from flockwise.registry import NO_OPTIONS, Piece, Registry, config_name
from flockwise.scoring import Better, Scoring

if TYPE_CHECKING:
    import torch

Loss = Callable[[Any, "torch.Tensor"], "torch.Tensor"]  # outputs, targets -> mean loss of the batch
Targets = Literal["class", "classes", "numbers", "any"]
LOSS = "test_loss"  # the score of a task that names no metric: its loss
IGNORED = -100  # the label of a step that is not there: no loss and no metric counts it
_GIVEN = {"predicted", "targets", "loss"}
_TAKEN = {"loss", "trained", "flock", "flocks", "apart", "similarity", "map", "dendrogram", "round", "rounds"}


def as_it_is(outputs: Any) -> Any:
    """Outputs that are predictions themselves."""
    return outputs


@dataclass(frozen=True, eq=False)
class Task:
    """What models are to learn, and how good they are at it.

    `loss(outputs, targets)` is the mean loss of a batch, a tensor that can be differentiated. `metrics` are functions
    of arrays by name; `score` is the one by which models are compared, between `low` and `high`, and `better` says
    which way. Without metrics it is the loss. `predict` turns a batch of outputs into predictions. A module that
    returns several tensors is taken by its first; with `whole`, loss and predict are given all of them. `targets` says
    what labels are: one class a sample, a class a step (-100 is ignored), or numbers. `outputs` is how many numbers a
    model has to return, where that is not the number of classes.
    """

    loss: Loss
    metrics: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    score: str = LOSS
    better: Better | None = None
    low: float = 0.0
    high: float = float("inf")
    predict: Callable[[Any], Any] = as_it_is
    targets: Targets = "any"
    outputs: int | None = None
    whole: bool = False
    name: str = "own"
    summary: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    kernels: str | None = "a loss of its own"  # why the native kernels cannot serve it; None: they can

    def __post_init__(self) -> None:
        if not callable(self.loss) or not callable(self.predict):
            raise InputError("loss, predict: must be functions, of a module's outputs (and of the targets)")
        for name, metric in self.metrics.items():
            if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name) or name in _TAKEN:
                raise InputError(
                    f"metrics = {name!r:.40}: must be a word of small letters that no other number has"
                )
            if not callable(metric) or not set(inspect.signature(metric).parameters) & _GIVEN:
                raise InputError(f"metrics.{name}: must be a function of predicted, targets or loss")
        if self.score != LOSS and self.score not in self.metrics:
            raise InputError(
                f"score = {self.score!r}: must be one of the metrics, {', '.join(self.metrics) or 'none'}"
            )
        if self.better is None and self.score != LOSS:
            raise InputError(f"better: say whether a higher or a lower {self.score} is better")
        if self.targets not in ("class", "classes", "numbers", "any"):
            raise InputError(f"targets = {self.targets!r}: must be class, classes, numbers or any")
        self.scoring  # noqa: B018  its bounds are checked here

    @property
    def scoring(self) -> Scoring:
        """How models are compared."""
        return Scoring(self.score, self.better or "lower", self.low, self.high)

    @property
    def others(self) -> tuple[str, ...]:
        """The metrics besides the score."""
        return tuple(name for name in self.metrics if name != self.score)

    def measured(self, predicted: np.ndarray, targets: np.ndarray, loss: float) -> list[float]:
        """The score, the loss, and the other metrics; NaN where one is not defined on these samples."""
        given = {"predicted": predicted, "targets": targets, "loss": loss}
        sound = np.isfinite(loss) and (predicted.dtype.kind != "f" or bool(np.isfinite(predicted).all()))
        values = [self._metric(name, given) for name in self.others]
        if not sound:  # a model that has diverged is as bad as can be, not one that was never measured
            return [self.scoring.worst, loss, *([float("nan")] * len(values))]
        score = loss if self.score == LOSS else self._metric(self.score, given)
        return [min(max(score, -1e30), 1e30) if score == score else score, loss, *values]

    def _metric(self, name: str, given: Mapping[str, Any]) -> float:
        function = self.metrics[name]
        wanted = {key: given[key] for key in inspect.signature(function).parameters if key in given}
        try:
            return float(function(**wanted))
        except (TypeError, ValueError, IndexError) as error:
            raise PluginError(
                f"task.metrics.{name}: cannot be computed: {type(error).__name__}: {error}"
            ) from error

    def section(self) -> dict[str, Any]:
        """The task as a config has it."""
        return {"name": self.name, **self.options}


@dataclass(frozen=True, eq=False, repr=False)
class TaskPiece(Piece):
    """A task that can be named in a config: calling it with its options gives the task."""

    def __call__(self, *arguments: Any, **options: Any) -> Task:
        """The task; positional arguments are its options, in order."""
        given = inspect.signature(self.function).bind_partial(*arguments).arguments | options
        checked = self.resolved({name: plain(value) for name, value in given.items()}, "task.")
        made = self.function(**checked)
        if not isinstance(made, Task):
            raise PluginError(f"{self.name} made a {type(made).__name__}: must be a flockwise.Task")
        return replace(made, name=self.name, summary=self.summary, options=checked)


TASKS: Registry[TaskPiece] = Registry("flockwise.tasks")


def task(
    summary: str, *, paper: str = "", example: Mapping[str, Any] | None = NO_OPTIONS
) -> Callable[[Callable[..., Task]], TaskPiece]:
    """Makes a function of options that returns a Task a task by name."""
    return lambda function: TASKS.add(
        TaskPiece(config_name(function), summary, function, paper=paper, example=example)
    )
