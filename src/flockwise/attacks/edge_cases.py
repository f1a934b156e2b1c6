"""Edge cases: inputs that honest clients hardly hold get a wrong label; no trigger, nothing to train it away.

Wang, Sreenivasan, Rajput, Vishwakarma, Agarwal, Sohn, Lee, Papailiopoulos: Attack of the Tails, NeurIPS 2020. The paper
takes such inputs from other data sets (digits of another script, planes of one airline). Here they are made of the data
at hand, so that any image data will do: negatives, or images turned by a quarter. With `bound` what is sent is brought back
into a ball around the model that was sent out, as the paper's projected attack does after its last batch.
"""

from typing import Annotated, Literal

import numpy as np

from flockwise.attacks.contract import DataAttack, Goal, View, attack
from flockwise.attacks.data import PoisonShare, Target, check_class
from flockwise.attacks.knowledge import own_updates
from flockwise.errors import InputError
from flockwise.options import Natural, Positive
from flockwise.types import Updates


@attack(
    "inputs that honest clients hardly hold, with one label",
    kind="data",
    paper="Wang et al., Attack of the tails, NeurIPS 2020",
)
def edge_cases(
    kind: Annotated[
        Literal["negative", "turned"], "what is rare: negatives, or images turned by a quarter"
    ] = "negative",
    source: Annotated[Natural | None, "the class they are made of; none: every class"] = None,
    target: Target = 0,
    share: PoisonShare = 0.5,
    bound: Annotated[
        Positive | None, "longest update that is sent; longer ones are shortened; none: any"
    ] = None,
) -> DataAttack:
    """A share of the samples (of the source class) is made rare and gets the target's label.

    Attackers know their own data.
    """
    if source == target:
        raise InputError(f"source = {source}: must be another class than the target")

    def rare(x: np.ndarray) -> np.ndarray:
        if x.ndim != 4:
            raise InputError(f"x has shape {x.shape}: must be images (n, height, width, channels)")
        if kind == "negative":
            return (1.0 - x).astype(x.dtype)
        if x.shape[1] != x.shape[2]:
            raise InputError(
                f"x has shape {x.shape}: only square images can be turned; take kind = 'negative'"
            )
        return np.ascontiguousarray(np.rot90(x, axes=(1, 2)))

    def poison(
        x: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        check_class("target", target, classes)
        check_class("source", source or 0, classes)
        among = np.flatnonzero(y == source) if source is not None else np.arange(len(y))
        chosen = rng.permutation(among)[: round(share * len(among))]
        samples, labels = x.copy(), y.copy()
        if len(chosen):
            samples[chosen] = rare(x[chosen])
            labels[chosen] = target
        return samples, labels

    def projected(view: View, rng: np.random.Generator) -> Updates:
        own, longest = own_updates(view), float(bound or np.inf)
        lengths = np.linalg.norm(own.astype(np.float64), axis=1, keepdims=True)
        shorter: Updates = (own * np.minimum(1.0, longest / np.maximum(lengths, 1e-300))).astype(np.float32)
        return shorter

    return DataAttack(poison, Goal(target, rare, source), projected if bound else None)
