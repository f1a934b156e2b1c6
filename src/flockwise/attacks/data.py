"""Attacks on the training data of a client, which then trains honestly on it."""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from flockwise.attacks.contract import DataAttack, Goal, Poison, attack
from flockwise.errors import InputError
from flockwise.options import Count, Natural

Pattern = Literal["square", "cross", "stripes"]
PoisonShare = Annotated[float, Field(gt=0, le=1), "share of the samples that get a trigger"]
Target = Annotated[Natural, "the class that a trigger stands for"]
TriggerSize = Annotated[Count, "pixels of the trigger's side"]


@attack("one label for every sample", kind="data")
def label_to(label: Annotated[Natural, "the class, from 0"] = 0) -> DataAttack:
    """Every sample gets the same label."""

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        check_class("label", label, classes)
        return x.copy(), np.full_like(y, label)

    return DataAttack(poison, relabels=True)


@attack("labels in reverse order", kind="data")
def label_flip() -> DataAttack:
    """Label l becomes classes - 1 - l."""

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return x.copy(), classes - 1 - y

    return DataAttack(poison, relabels=True)


@attack("uniform noise added to every pixel", kind="data")
def noise(
    low: Annotated[float, "smallest number added"] = -10.0,
    high: Annotated[float, "largest number added"] = 10.0,
) -> DataAttack:
    """Uniform noise is added to every pixel and not clipped, as in Byzantine-robust clustered learning."""
    if not low < high:
        raise InputError(f"low = {low}, high = {high}: must be low below high")

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        added = rng.random(x.shape, dtype=np.float32) * np.float32(high - low) + np.float32(low)
        return (x + added).astype(np.float32), y.copy()

    return DataAttack(poison)


@attack(
    "a trigger in some samples, with one label",
    kind="data",
    paper="Gu, Dolan-Gavitt and Garg, BadNets, 2017",
)
def backdoor(
    pattern: Annotated[Pattern, "the trigger"] = "square",
    target: Target = 0,
    share: PoisonShare = 0.5,
    size: TriggerSize = 3,
) -> DataAttack:
    """A share of the samples carries a trigger and the target's label (Gu et al., BadNets, 2017).

    `"square"` is a bright square of `size` pixels in the lower right corner, `"cross"` a cross there,
    `"stripes"` every other column bright over the lowest `size` rows. `stamp` puts it on test images.
    """

    goal = Goal(target, lambda x: stamp(x, pattern, size))
    return DataAttack(triggered(goal.trigger, target, share), goal)


def triggered(trigger: Callable[[np.ndarray], np.ndarray], target: int, share: float) -> Poison:
    """The poison that puts a trigger and the target's label on a share of the samples."""

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        check_class("target", target, classes)
        chosen = rng.permutation(len(y))[: max(1, round(share * len(y)))]
        samples, labels = x.copy(), y.copy()
        samples[chosen] = trigger(x[chosen])
        labels[chosen] = target
        return samples, labels

    return poison


def stamp(x: np.ndarray, pattern: Pattern = "square", size: int = 3) -> np.ndarray:
    """Copies of images (n, height, width, channels) with the trigger at full brightness."""
    if x.ndim != 4 or min(x.shape[1:3]) < size:
        raise InputError(
            f"x has shape {x.shape}: must be images (n, height, width, channels) of {size} pixels or more"
        )
    stamped = x.copy()
    if pattern == "stripes":
        stamped[:, -size:, ::2] = 1.0
        return stamped
    corner = stamped[:, -size:, -size:]
    if pattern == "square":
        corner[:] = 1.0
    else:
        diagonal = np.arange(size)
        corner[:, diagonal, diagonal] = 1.0
        corner[:, diagonal, size - 1 - diagonal] = 1.0
    return stamped


def check_class(name: str, value: int, classes: int) -> None:
    """Refuse a class that the data do not have."""
    if value >= classes:
        raise InputError(f"{name} = {value}: must be below {classes}, the number of classes")
