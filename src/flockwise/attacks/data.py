"""Attacks on the training data of a client, which then trains honestly on it."""

import numpy as np

from flockwise.attacks.contract import DataAttack
from flockwise.errors import InputError

PATTERNS = ("square", "cross", "stripes")


def label_to(label: int = 0) -> DataAttack:
    """Every sample gets the same label."""
    if label < 0:
        raise InputError(f"label = {label}: must be a class, from 0")

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        _check_class("label", label, classes)
        return x.copy(), np.full_like(y, label)

    return DataAttack("label-to", "one label for every sample", poison)


def label_flip() -> DataAttack:
    """Label l becomes classes - 1 - l."""

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return x.copy(), classes - 1 - y

    return DataAttack("label-flip", "labels in reverse order", poison)


def noise(low: float = -10.0, high: float = 10.0) -> DataAttack:
    """Uniform noise is added to every pixel and not clipped, as in Byzantine-robust clustered learning."""
    if not -float("inf") < low < high < float("inf"):
        raise InputError(f"low = {low}, high = {high}: must be finite, low below high")

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        added = rng.random(x.shape, dtype=np.float32) * np.float32(high - low) + np.float32(low)
        return (x + added).astype(np.float32), y.copy()

    return DataAttack("noise", "uniform noise added to every pixel", poison)


def backdoor(pattern: str = "square", target: int = 0, share: float = 0.5, size: int = 3) -> DataAttack:
    """A share of the samples carries a trigger and the target's label (Gu et al., BadNets, 2017).

    `"square"` is a bright square of `size` pixels in the lower right corner, `"cross"` a cross there,
    `"stripes"` every other column bright over the lowest `size` rows. `stamp` puts it on test images.
    """
    if pattern not in PATTERNS:
        raise InputError(f"pattern = {pattern!r}: must be one of {', '.join(PATTERNS)}")
    if not 0 < share <= 1:
        raise InputError(f"share = {share}: must be above 0 and at most 1; 0.5 stamps every second sample")
    if target < 0:
        raise InputError(f"target = {target}: must be a class, from 0")
    if size < 1:
        raise InputError(f"size = {size}: must be at least one pixel")

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        _check_class("target", target, classes)
        chosen = rng.permutation(len(y))[: max(1, round(share * len(y)))]
        samples, labels = x.copy(), y.copy()
        samples[chosen] = stamp(x[chosen], pattern, size)
        labels[chosen] = target
        return samples, labels

    return DataAttack("backdoor", "a trigger in some samples, with one label", poison)


def stamp(x: np.ndarray, pattern: str = "square", size: int = 3) -> np.ndarray:
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


def _check_class(name: str, value: int, classes: int) -> None:
    if value >= classes:
        raise InputError(f"{name} = {value}: must be below {classes}, the number of classes")
