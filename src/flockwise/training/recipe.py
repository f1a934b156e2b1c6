"""What a client does in a round of local training, and what every trainer can do."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.options import written
from flockwise.registry import config_name
from flockwise.schedules import Schedule, factor_of
from flockwise.types import Vector

Samples: TypeAlias = NDArray[np.float32] | torch.Tensor  # (n, height, width, channels) or (n, features)
Classes: TypeAlias = NDArray[np.int64] | torch.Tensor  # (n,)
Orders: TypeAlias = NDArray[np.int64]  # (epochs, n) a permutation of the samples for each epoch
Make: TypeAlias = Callable[..., torch.optim.Optimizer]  # of the parameters, or of them and the learning rate
Augment: TypeAlias = Callable[
    [NDArray[Any], np.random.Generator], NDArray[Any]
]  # samples -> samples of that shape
BUILT_IN = ("sgd", "adam", "adamw")


@dataclass(frozen=True)
class Recipe:
    """The settings of local training: stochastic gradient descent, Adam, AdamW, or an optimiser of your own.

    `proximal` is the mu of FedProx: the loss gains mu/2 times the squared distance to the model received. `clip` is the
    longest gradient of a step. `schedule` changes the learning rate from round to round, `step_schedule` from step to
    step inside a round; `factor` is what the first has come to in the round at hand (see `at`). `make` is the optimiser
    of one that is not built in. `augment` changes every batch before it is learned from, a function of the samples and a
    generator; `precision` "mixed" computes in bfloat16 where a GPU does that faster.
    """

    epochs: int = 1
    batch_size: int = 10
    learning_rate: float = 0.05
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0
    optimizer: str = "sgd"
    clip: float | None = None
    schedule: tuple[Schedule, ...] = ()
    step_schedule: tuple[Schedule, ...] = ()
    make: Make | None = None
    factor: float = 1.0
    augment: Augment | None = None
    precision: Literal["full", "mixed"] = "full"

    def section(self) -> dict[str, Any]:
        """The recipe as a config has it."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("make", "factor"):
            del said[name]
        said["augment"] = None if self.augment is None else config_name(self.augment)
        for name in ("schedule", "step_schedule"):
            said[name] = [written(each.section()) for each in said[name]]
        return said

    def at(self, round: int) -> "Recipe":
        """The recipe of this round, from 1: a number of the round alone, so that nobody has to remember it."""
        return replace(self, factor=factor_of(self.schedule, round - 1)) if self.schedule else self

    @property
    def rate(self) -> float:
        """The learning rate of the round at hand."""
        return self.learning_rate * self.factor

    def factors(self, steps: int) -> list[float] | None:
        """What each of a round's steps multiplies its rate by; None: all are 1."""
        if not self.step_schedule:
            return None
        return [factor_of(self.step_schedule, step, steps) for step in range(steps)]

    @property
    def plain(self) -> bool:
        """Whether a step is the learning rate times the gradient and nothing else."""
        own = self.momentum or self.weight_decay or self.proximal or self.clip is not None
        return self.optimizer == "sgd" and self.precision == "full" and not own

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs = {self.epochs}: must be at least 1")
        if self.batch_size < 1:
            raise InputError(f"batch_size = {self.batch_size}: must be at least 1; 10 is usual")
        if self.make is None and self.optimizer not in BUILT_IN:
            raise InputError(
                f"optimizer = {self.optimizer!r}: must be {', '.join(BUILT_IN)}, or a function that makes one: "
                "fw.Optimizer(lambda parameters: torch.optim...)"
            )
        if self.optimizer != "sgd" and self.momentum:
            raise InputError(
                f"momentum = {self.momentum}: is for optimizer sgd; {self.optimizer} has its own, leave it out"
            )
        if not 0 <= self.momentum < 1:
            raise InputError(f"momentum = {self.momentum}: must be at least 0 and below 1; 0.9 is usual")
        if self.make is not None and self.weight_decay:
            raise InputError(
                f"weight_decay = {self.weight_decay}: is for {', '.join(BUILT_IN)}; say it to the optimiser of your own"
            )
        for field in ("learning_rate", "weight_decay", "proximal", "factor"):
            if not 0 <= getattr(self, field) < float("inf"):
                raise InputError(f"{field} = {getattr(self, field)}: must be a finite number, 0 or more")
        if self.precision not in ("full", "mixed"):
            raise InputError(f"precision = {self.precision!r}: must be full or mixed")
        if self.augment is not None and not callable(self.augment):
            raise InputError(
                f"augment = {self.augment!r:.60}: must be a function of a batch of samples and a generator"
            )
        if self.clip is not None and not 0 < self.clip < float("inf"):
            raise InputError(f"clip = {self.clip}: must be a finite number above 0, or None")


class Trainer(Protocol):
    """Trains and evaluates models of one architecture on one core.

    Images are float32 with the channels last, (n, height, width, channels); other samples are (n, ...).
    Nothing passed in is changed, and the same arguments give the same bits.
    """

    least: int  # samples a batch must hold; 2 where batch normalisation would be left with a single value

    def train(
        self, vector: Vector, x: Samples, y: Classes, orders: Orders, recipe: Recipe
    ) -> tuple[Vector, float]:
        """The model after local training, and the mean training loss of the last epoch.

        Epoch `e` visits the samples in the order `orders[e]`, in batches of `recipe.batch_size`; the last
        batch may be smaller, but joins the one before it if it has fewer than `least` samples. The loss of a
        sample is the one before the step that it takes part in.
        """
        ...

    def losses(self, vector: Vector, x: Samples, y: Classes) -> tuple[float, int]:
        """Of classification: the mean cross-entropy and how many samples are classified correctly."""
        ...

    def losses_each(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """As `losses` for several clients whose samples lie end to end, with the same bits as one by one.

        `lengths` says how many samples each holds; the loss of one that holds none is 0.
        """
        ...

    def measures(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """How good the model is at its task for several clients whose samples lie end to end, one a row.

        Columns are the score, the mean loss, and the task's other metrics; NaN for a client that holds no samples.
        """
        ...
