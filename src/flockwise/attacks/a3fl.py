"""A3FL: a trigger that is made through the model of the round, and through one that has been hardened against it.

Zhang, Jia, Chen, Lin, Wu: A3FL: Adversarially Adaptive Backdoor Attacks to Federated Learning, NeurIPS 2023. The trigger
fills a square of the image. Each step moves its numbers by `rate` against the sign of the gradient of the loss for the
target; from the second step on the loss of a copy of the model is added that was trained to see through the trigger as it is
(right labels on samples that carry it), as far as the gradients of the two models agree. Then attackers train on a share of
their samples with the trigger and the target's label.

What it knows: the model that an attacker is sent, and the attackers' data, of which all of them use the same samples. Where
the authors go on from the trigger of the round before, ours begins anew in every round, with larger steps: nothing is
remembered, and a run resumes to the same bits. Attack success is measured with the trigger that attackers would make
through the model that is tested, since whoever is served a model holds it.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import DataAttack, Goal, Poison, SeenModel, attack
from flockwise.attacks.data import PoisonShare, Target, TriggerSize, check_class, triggered
from flockwise.errors import InputError
from flockwise.options import Count, Natural, NonNegative, Positive

SAMPLES = 256  # of the attackers' that the trigger is made with
GREY = 0.5  # what a trigger begins with


@attack(
    "a backdoor whose trigger is optimised through the model of the round and one hardened against it",
    kind="data",
    paper="Zhang et al., A3FL, NeurIPS 2023",
)
def a3fl(
    size: TriggerSize = 3,
    offset: Annotated[Natural, "pixels from the upper left corner to the trigger, down and across"] = 0,
    target: Target = 0,
    share: PoisonShare = 0.5,
    steps: Annotated[Count, "signed gradient steps on the trigger"] = 20,
    rate: Annotated[Positive, "length of a step; pixels are from 0 to 1"] = 0.05,
    harden: Annotated[Natural, "epochs in which the copy learns to see through the trigger; 0: none"] = 5,
    balance: Annotated[NonNegative, "weight of the hardened copy's loss"] = 0.01,
) -> DataAttack:
    """A share of the samples carries the trigger of the round and the target's label."""

    def through(
        model: SeenModel, x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[Poison, Goal]:
        check_class("target", target, classes)
        some = rng.permutation(len(y))[:SAMPLES]
        mask = masked(x.shape, size, offset)
        found = searched(model, x[some], y[some], mask, target, steps, rate, harden, balance)

        def trigger(samples: np.ndarray) -> np.ndarray:
            return np.where(mask, found, samples).astype(samples.dtype)

        return triggered(trigger, target, share), Goal(target, trigger)

    def untouched(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return x.copy(), y.copy()

    return DataAttack(untouched, Goal(target, lambda x: x), through=through)


def masked(shape: tuple[int, ...], size: int, offset: int) -> np.ndarray:
    """Where the trigger is in an image (height, width, channels)."""
    if len(shape) != 4 or min(shape[1:3]) < offset + size:
        raise InputError(
            f"x has shape {shape}: must be images (n, height, width, channels) of {offset + size} pixels or more"
        )
    mask = np.zeros(shape[1:], dtype=bool)
    mask[offset : offset + size, offset : offset + size] = True
    return mask


def searched(
    model: SeenModel, x: np.ndarray, y: np.ndarray, mask: np.ndarray, target: int, steps: int, rate: float, harden: int,
    balance: float,
) -> np.ndarray:  # fmt: skip
    """The trigger as an image; outside the mask it says nothing."""
    found = np.full(x.shape[1:], GREY, dtype=np.float32)
    wanted = np.full_like(y, target)
    summed: list[np.ndarray] = []  # the model's gradients over all steps so far, as the authors have it
    for step in range(steps):
        shown = np.where(mask, found, x).astype(np.float32)
        by_sample, by_weight = model.gradients(shown, wanted)
        pull = by_sample.sum(axis=0)
        if step and harden and balance:
            hardened, last = model.trained(shown, y, harden)
            agree = (
                np.mean([_cosine(mine, own) for mine, own in zip(last, summed, strict=True)]) if last else 0.0
            )
            pull = pull + balance * agree * hardened.gradients(shown, wanted)[0].sum(axis=0)
        summed = [a + b for a, b in zip(summed, by_weight, strict=True)] if step else list(by_weight)
        pull = np.where(mask & np.isfinite(pull), pull, 0.0)  # a ruined model pulls nowhere
        found = np.clip(found - rate * np.sign(pull), 0.0, 1.0).astype(np.float32)
    return found


def _cosine(left: np.ndarray, right: np.ndarray) -> float:
    lengths = float(np.linalg.norm(left)) * float(np.linalg.norm(right))
    return float(np.vdot(left, right)) / lengths if lengths > 0 else 0.0
