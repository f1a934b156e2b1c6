"""Recipes of local training by the name of their optimiser."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from flockwise.errors import InputError
from flockwise.registry import OWN, config_name
from flockwise.schedules import Schedule, schedules_from
from flockwise.training.recipe import BUILT_IN, Make, Recipe

Scheduled: TypeAlias = Schedule | str | Callable[..., float] | Iterable[Schedule | str] | None


def SGD(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.05, *, momentum: float = 0.0,
    weight_decay: float = 0.0, proximal: float = 0.0, clip: float | None = None, schedule: Scheduled = None,
    step_schedule: Scheduled = None,
) -> Recipe:  # fmt: skip
    """Local training by stochastic gradient descent; `proximal` is the mu of FedProx."""
    return Recipe(
        epochs, batch_size, learning_rate, momentum, weight_decay, proximal, clip=clip,
        schedule=schedules_from(schedule), step_schedule=schedules_from(step_schedule),
    )  # fmt: skip


def Adam(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.001, *, weight_decay: float = 0.0,
    proximal: float = 0.0, clip: float | None = None, schedule: Scheduled = None, step_schedule: Scheduled = None,
) -> Recipe:  # fmt: skip
    """Local training by Adam, starting anew in every round."""
    return Recipe(
        epochs, batch_size, learning_rate, 0.0, weight_decay, proximal, "adam", clip,
        schedules_from(schedule), schedules_from(step_schedule),
    )  # fmt: skip


def AdamW(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.001, *, weight_decay: float = 0.01,
    proximal: float = 0.0, clip: float | None = None, schedule: Scheduled = None, step_schedule: Scheduled = None,
) -> Recipe:  # fmt: skip
    """Local training by AdamW (Loshchilov and Hutter, ICLR 2019), starting anew in every round."""
    return Recipe(
        epochs, batch_size, learning_rate, 0.0, weight_decay, proximal, "adamw", clip,
        schedules_from(schedule), schedules_from(step_schedule),
    )  # fmt: skip


def Optimizer(
    make: Make, epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.05, *, proximal: float = 0.0,
    clip: float | None = None, schedule: Scheduled = None, step_schedule: Scheduled = None,
) -> Recipe:  # fmt: skip
    """Local training by an optimiser of torch's that you make, anew in every round.

    `make` is a function of the parameters, or of the parameters and the learning rate. Schedules multiply whatever
    rates its groups of parameters have.
    """
    if not callable(make):
        raise InputError(
            f"make = {make!r:.60}: must be a function of the parameters that returns a torch optimiser"
        )
    name = config_name(make)
    return Recipe(
        epochs, batch_size, learning_rate, 0.0, 0.0, proximal, OWN if name in BUILT_IN else name, clip,
        schedules_from(schedule), schedules_from(step_schedule), make,
    )  # fmt: skip
