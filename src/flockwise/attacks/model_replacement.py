"""Backdoors that are sent louder than they were trained: the model shall be the attackers'.

Bagdasaryan, Veit, Hua, Estrin, Shmatikov: How to Backdoor Federated Learning, AISTATS 2020. Averaging dilutes one update
among many; scaled by the number of clients it replaces the model. The paper's constrain-and-scale adds a term to the
training loss that keeps the update near what a defence expects. Here the constraint is put on the trained update: it is
turned towards the honest course, and made as long as the longest honest update and no longer.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.attacks.contract import DataAttack, View, attack
from flockwise.attacks.data import Pattern, PoisonShare, Target, TriggerSize, backdoor
from flockwise.attacks.knowledge import center, needs, others_updates, own_updates, turned_towards
from flockwise.options import Positive
from flockwise.types import Updates

PAPER = "Bagdasaryan et al., How to backdoor federated learning, AISTATS 2020"


@attack("a backdoor, scaled until it replaces the model", kind="data", paper=PAPER)
def model_replacement(
    scale: Annotated[Positive, "how many times as long; the number of clients replaces the model"] = 10.0,
    pattern: Annotated[Pattern, "the trigger"] = "square",
    target: Target = 0,
    share: PoisonShare = 0.5,
    size: TriggerSize = 3,
) -> DataAttack:
    """Each attacker trains on samples with a trigger and sends its update times `scale`. It knows its own update."""
    made = backdoor(pattern, target, share, size)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        return (own_updates(view) * np.float32(scale)).astype(np.float32, copy=False)

    return DataAttack(made.poison, made.goal, craft)


@attack("a backdoor, within the angle and the length of honest updates", kind="data", paper=PAPER)
def constrain_and_scale(
    closeness: Annotated[float, Field(ge=-1, le=1), "least cosine with the honest mean"] = 0.5,
    pattern: Annotated[Pattern, "the trigger"] = "square",
    target: Target = 0,
    share: PoisonShare = 0.5,
    size: TriggerSize = 3,
) -> DataAttack:
    """Each attacker turns its update towards the honest mean until their cosine is `closeness`, and stretches it to the
    longest honest update. It knows what everybody sends in the round.
    """
    made = backdoor(pattern, target, share, size)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        others = others_updates(view, "constrain-and-scale")
        course = center(others)
        longest = float(np.linalg.norm(others.astype(np.float64), axis=1).max())
        turned = [turned_towards(row.astype(np.float64), course, closeness) for row in own_updates(view)]
        return np.stack([row * longest for row in turned]).astype(np.float32)

    return DataAttack(made.poison, made.goal, craft, needs("all"))
