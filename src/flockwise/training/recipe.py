"""What a client does in a round of local training, and what every trainer can do."""

from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.types import Vector

Samples: TypeAlias = NDArray[np.float32] | torch.Tensor  # (n, height, width, channels) or (n, features)
Classes: TypeAlias = NDArray[np.int64] | torch.Tensor  # (n,)
Orders: TypeAlias = NDArray[np.int64]  # (epochs, n) a permutation of the samples for each epoch


@dataclass(frozen=True)
class Recipe:
    """The settings of local training: stochastic gradient descent, or Adam.

    `proximal` is the mu of FedProx: the loss gains mu/2 times the squared distance to the model received.
    """

    epochs: int = 1
    batch_size: int = 10
    learning_rate: float = 0.05
    momentum: float = 0.0
    weight_decay: float = 0.0
    proximal: float = 0.0
    optimizer: str = "sgd"

    def section(self) -> dict[str, Any]:
        """The recipe as a config has it."""
        return asdict(self)

    @property
    def plain(self) -> bool:
        """Whether a step is the learning rate times the gradient and nothing else."""
        return self.optimizer == "sgd" and not (self.momentum or self.weight_decay or self.proximal)

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError(f"epochs = {self.epochs}: must be at least 1")
        if self.batch_size < 1:
            raise InputError(f"batch_size = {self.batch_size}: must be at least 1; 10 is usual")
        if self.optimizer not in ("sgd", "adam"):
            raise InputError(f"optimizer = {self.optimizer!r}: must be sgd or adam")
        if self.optimizer == "adam" and self.momentum:
            raise InputError(
                f"momentum = {self.momentum}: is for optimizer sgd; Adam has its own, leave it out"
            )
        if not 0 <= self.momentum < 1:
            raise InputError(f"momentum = {self.momentum}: must be at least 0 and below 1; 0.9 is usual")
        for field in ("learning_rate", "weight_decay", "proximal"):
            if not 0 <= getattr(self, field) < float("inf"):
                raise InputError(f"{field} = {getattr(self, field)}: must be a finite number, 0 or more")


def SGD(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.05, *, momentum: float = 0.0,
    weight_decay: float = 0.0, proximal: float = 0.0,
) -> Recipe:  # fmt: skip
    """Local training by stochastic gradient descent; `proximal` is the mu of FedProx."""
    return Recipe(epochs, batch_size, learning_rate, momentum, weight_decay, proximal)


def Adam(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.001, *, weight_decay: float = 0.0,
    proximal: float = 0.0,
) -> Recipe:  # fmt: skip
    """Local training by Adam, starting anew in every round."""
    return Recipe(epochs, batch_size, learning_rate, 0.0, weight_decay, proximal, "adam")


class Trainer(Protocol):
    """Trains and evaluates models of one architecture on one core.

    Images are float32 with the channels last, (n, height, width, channels); other samples are
    (n, features). Nothing passed in is changed, and the same arguments give the same bits.
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
        """The mean cross-entropy of the model and how many samples it classifies correctly."""
        ...

    def losses_each(
        self, vector: Vector, x: Samples, y: Classes, lengths: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """As `losses` for several clients whose samples lie end to end, with the same bits as one by one.

        `lengths` says how many samples each holds; the loss of one that holds none is 0.
        """
        ...
