"""Recipes of local training by the name of their optimiser."""

import inspect
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias, TypedDict, Unpack

from flockwise.errors import InputError
from flockwise.plugins import nearest
from flockwise.registry import OWN, config_name
from flockwise.schedules import Schedule, schedules_from
from flockwise.training.recipe import BUILT_IN, Augment, Make, Recipe

Scheduled: TypeAlias = Schedule | str | Callable[..., float] | Iterable[Schedule | str] | None


class Shared(TypedDict, total=False):
    """What all recipes take besides the settings of their optimiser."""

    proximal: float  # mu of FedProx
    clip: float | None  # longest gradient of a step
    schedule: Scheduled  # how the learning rate changes over the rounds
    step_schedule: Scheduled  # and over a client's steps inside a round
    augment: Augment | None  # changes every batch before it is learned from
    precision: Literal["full", "mixed"]  # "mixed" where a GPU is


def SGD(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.05, *, momentum: float = 0.0,
    weight_decay: float = 0.0, **shared: Unpack[Shared],
) -> Recipe:  # fmt: skip
    """Local training by stochastic gradient descent; `proximal` is the mu of FedProx."""
    return _recipe(epochs, batch_size, learning_rate, momentum, weight_decay, "sgd", None, shared)


def Adam(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.001, *, weight_decay: float = 0.0,
    **shared: Unpack[Shared],
) -> Recipe:  # fmt: skip
    """Local training by Adam, starting anew in every round."""
    return _recipe(epochs, batch_size, learning_rate, 0.0, weight_decay, "adam", None, shared)


def AdamW(
    epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.001, *, weight_decay: float = 0.01,
    **shared: Unpack[Shared],
) -> Recipe:  # fmt: skip
    """Local training by AdamW (Loshchilov and Hutter, ICLR 2019), starting anew in every round."""
    return _recipe(epochs, batch_size, learning_rate, 0.0, weight_decay, "adamw", None, shared)


def Optimizer(
    make: Make, epochs: int = 1, batch_size: int = 10, learning_rate: float = 0.05, **shared: Unpack[Shared]
) -> Recipe:
    """Local training by an optimiser of torch's that you make, anew in every round.

    `make` is a function of the parameters, or of the parameters and the learning rate. Schedules multiply whatever
    rates its groups of parameters have.
    """
    if not callable(make):
        raise InputError(
            f"make = {make!r:.60}: must be a function of the parameters that returns a torch optimiser"
        )
    name = config_name(make)
    own = OWN if name in BUILT_IN else name
    return _recipe(epochs, batch_size, learning_rate, 0.0, 0.0, own, make, shared)


def _spelled_out(function: Callable[..., Recipe]) -> None:
    """Let help() and tab completion show what all recipes take by its names."""
    own = inspect.signature(function)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    unset = {"proximal": 0.0, "precision": "full"}
    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=unset.get(name), annotation=kind)
        for name, kind in Shared.__annotations__.items()
    ]
    function.__signature__ = own.replace(parameters=[*named, *shared])  # type: ignore[attr-defined]


def _recipe(
    epochs: int, batch_size: int, learning_rate: float, momentum: float, weight_decay: float, optimizer: str,
    make: Make | None, shared: Shared,
) -> Recipe:  # fmt: skip
    unknown = [name for name in shared if name not in Shared.__annotations__]
    if unknown:
        known = inspect.signature(_BY_NAME.get(optimizer, Optimizer)).parameters
        hint = "did you mean 'learning_rate'?" if unknown[0] == "lr" else nearest(unknown[0], list(known))
        raise InputError(f"{unknown[0]}: unknown; {hint}")
    return Recipe(
        epochs, batch_size, learning_rate, momentum, weight_decay, shared.get("proximal", 0.0), optimizer,
        shared.get("clip"), schedules_from(shared.get("schedule")), schedules_from(shared.get("step_schedule")),
        make, augment=shared.get("augment"), precision=shared.get("precision", "full"),
    )  # fmt: skip


_BY_NAME: dict[str, Callable[..., Recipe]] = {"sgd": SGD, "adam": Adam, "adamw": AdamW}
for _each in (SGD, Adam, AdamW, Optimizer):
    _spelled_out(_each)
