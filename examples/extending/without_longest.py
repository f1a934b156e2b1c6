"""A rule of your own: the mean without the longest updates."""

from typing import Annotated

import numpy as np

import flockwise as fw
from flockwise.options import Natural


def without_longest(updates, drop: Annotated[Natural, "how many to leave out"] = 1):
    """The mean without the longest updates."""
    order = np.argsort(np.linalg.norm(updates, axis=1))
    return updates[np.sort(order[: max(len(order) - drop, 1)])].mean(axis=0)


if __name__ == "__main__":
    clients = fw.splits.iid(fw.data.digits(), clients=10)
    loud = fw.attacks.reverse(clients=1, scale=50.0)
    run = fw.run(fw.fedavg(rule=without_longest), clients, model=fw.models.softmax, attack=loud, rounds=5)
    print(run)
