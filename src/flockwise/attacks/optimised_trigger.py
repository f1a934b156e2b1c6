"""A backdoor whose trigger is made for the data: the few pixels that speak most for the target.

After Zhang, Jia, Chen, Lin, Wu: A3FL: Adversarially Adaptive Backdoor Attacks to Federated Learning, NeurIPS 2023. A3FL
optimises its trigger against the global model in every round, and against one that has unlearned it. This one is smaller:
attackers pool their data before training, fit a softmax regression to it, and light or darken the pixels whose weights
tell the target from the other classes best. The trigger stays the same for the whole run.
"""

from typing import Annotated

import numpy as np

from flockwise.attacks.contract import DataAttack, Goal, Poison, attack
from flockwise.attacks.data import PoisonShare, Target, backdoor, check_class, triggered
from flockwise.options import Count

STEPS = 200  # of gradient descent on all data at once
RATE = 0.5


@attack(
    "a backdoor whose trigger is optimised on the attackers' data",
    kind="data",
    paper="after Zhang et al., A3FL, NeurIPS 2023",
)
def optimised_trigger(
    pixels: Annotated[Count, "pixels that the trigger sets"] = 6, target: Target = 0, share: PoisonShare = 0.5
) -> DataAttack:
    """A share of the samples carries the pixels that speak most for the target. Attackers know one another's data."""

    def fitted(x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator) -> tuple[Poison, Goal]:
        check_class("target", target, classes)
        weights = softmax_regression(x.reshape(len(x), -1), y, classes)
        tells = weights[:, target] - np.delete(weights, target, axis=1).mean(axis=1)
        places = np.sort(np.argsort(-np.abs(tells), kind="stable")[:pixels])
        values = (tells[places] > 0).astype(np.float32)

        def trigger(samples: np.ndarray) -> np.ndarray:
            flat = samples.reshape(len(samples), -1).copy()
            flat[:, places] = values
            return flat.reshape(samples.shape)

        return triggered(trigger, target, share), Goal(target, trigger)

    square = backdoor("square", target, share, 1)  # what is left where attackers hold no data at all
    return DataAttack(square.poison, square.goal, fitted=fitted)


def softmax_regression(x: np.ndarray, y: np.ndarray, classes: int) -> np.ndarray:
    """Weights (numbers of a sample, classes) that tell classes apart, by plain gradient descent from zero."""
    samples = x.astype(np.float64)
    samples = samples - samples.mean(axis=0)
    wanted = np.eye(classes)[y]
    weights = np.zeros((samples.shape[1], classes))
    for _ in range(STEPS):
        scores = samples @ weights
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights += RATE * samples.T @ (wanted - scores / scores.sum(axis=1, keepdims=True)) / len(samples)
    return weights
