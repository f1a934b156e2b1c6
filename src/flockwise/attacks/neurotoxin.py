"""Neurotoxin: a backdoor in the coordinates that honest clients hardly move, so that they do not train it away.

Zhang, Panda, Song, Yang, Mahoney, Gonzalez, Ramchandran, Mittal: Neurotoxin: Durable Backdoors in Federated Learning,
ICML 2022. Where we differ: the paper projects every gradient step and takes the model's last step for what honest clients
move; here the trained update is projected, by what honest clients move in this round.
"""

from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.attacks.contract import DataAttack, View, attack
from flockwise.attacks.data import Pattern, PoisonShare, Target, TriggerSize, backdoor
from flockwise.attacks.knowledge import center, needs, others_updates, own_updates
from flockwise.types import Updates


@attack(
    "a backdoor in the coordinates that honest clients hardly move",
    kind="data",
    paper="Zhang et al., Neurotoxin, ICML 2022",
)
def neurotoxin(
    avoid: Annotated[
        float, Field(ge=0, lt=1), "share of the coordinates, those moved most, left alone"
    ] = 0.1,
    pattern: Annotated[Pattern, "the trigger"] = "square",
    target: Target = 0,
    share: PoisonShare = 0.5,
    size: TriggerSize = 3,
) -> DataAttack:
    """The update trained on samples with a trigger, zero where the honest mean is largest.

    Attackers know what everybody sends in the round.
    """
    made = backdoor(pattern, target, share, size)

    def craft(view: View, rng: np.random.Generator) -> Updates:
        moved = np.abs(center(others_updates(view, "neurotoxin")))
        sent = own_updates(view).astype(np.float32)
        busiest = np.argsort(-moved, kind="stable")[: int(avoid * len(moved))]
        sent[:, busiest] = 0.0
        return sent

    return DataAttack(made.poison, made.goal, craft, needs("all"))
