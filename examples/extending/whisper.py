"""An attack of your own: liars agree on a small push away from where everybody goes."""

from typing import Annotated

import numpy as np

import flockwise as fw
from flockwise.attacks import UpdateAttack
from flockwise.options import Positive


def whisper(strength: Annotated[Positive, "length of the push, in lengths of an own update"] = 0.3):
    """A small push against the mean of the attackers' own updates, the same from all of them."""

    def craft(view, rng):
        mean = view.own.mean(axis=0)
        return np.tile(mean - (1 + strength) * mean, (len(view.own), 1)).astype(np.float32)

    return UpdateAttack(craft, knows=frozenset({"own"}), name="whisper:whisper", clients=3)


if __name__ == "__main__":
    clients = fw.splits.iid(fw.data.digits(), clients=10)
    print(fw.run(fw.flic(warmup=3), clients, model=fw.models.softmax, attack=whisper(0.5), rounds=6))
