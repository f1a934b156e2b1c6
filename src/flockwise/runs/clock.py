"""A clock for simulations: how long clients take, and who comes after the deadline.

A client of the median size takes 1 for a round of training, one with twice the samples 2, and a slow one `slowness` times
that, give or take a tenth. Nobody waits in earnest: times are made of (seed, round, client), so a run repeats to the bit.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from flockwise.config import Config
from flockwise.messages import is_root
from flockwise.rng import generator

_WOBBLE = 0.1


@dataclass(frozen=True)
class Clock:
    """What training takes, by client; a round closes at the deadline, if there is one."""

    seed: int
    usual: tuple[float, ...]  # by client
    deadline: float | None = None

    def takes(self, client: int, round: int) -> float:
        """The time of a client's training in a round; the server's own data is at hand."""
        if is_root(client):
            return 0.0
        wobble = generator(self.seed, "clock", round, client).uniform(1 - _WOBBLE, 1 + _WOBBLE)
        return float(self.usual[client] * wobble)

    def is_late(self, client: int, round: int) -> bool:
        """Whether a reply comes after the round is closed; it is never used, then or later."""
        return self.deadline is not None and self.takes(client, round) > self.deadline

    def facts(self, round: int, in_time: Iterable[int], late: int) -> dict[str, float]:
        """How many came too late, and how long the round took: to its last reply, or to the deadline."""
        last = max((self.takes(client, round) for client in in_time), default=0.0)
        return {"late": float(late), "round_time": float(self.deadline or 0.0) if late else last}


def make_clock(config: Config, samples: np.ndarray) -> Clock | None:
    """The clock of a config, if it has one; slow clients are drawn once."""
    faults = config.faults
    if not faults.slow_clients and faults.deadline is None:
        return None
    usual = np.asarray(samples, dtype=np.float64) / max(float(np.median(samples)), 1.0)
    slow = generator(config.seed, "slow clients").choice(len(usual), size=faults.slow_clients, replace=False)
    usual[slow] *= faults.slowness
    return Clock(config.seed, tuple(usual.tolist()), faults.deadline)
