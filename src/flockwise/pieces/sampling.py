"""Who trains in a round."""

from dataclasses import dataclass

import numpy as np

from flockwise.pieces.state import State
from flockwise.rng import generator
from flockwise.types import Labels


@dataclass(frozen=True)
class Sampler:
    """A fraction of the free clients, drawn anew each round.

    With `per_flock` the fraction is taken of each flock by itself once there are flocks, at least one
    client of each; clients that no flock has been found for count as a flock of their own.
    """

    fraction: float = 1.0
    per_flock: bool = True
    seed: int = 0

    def draw(self, state: State, everyone: bool = False) -> Labels:
        """The clients of the next round, in order of id."""
        free = np.flatnonzero(state.free)
        if everyone or self.fraction >= 1.0 or len(free) == 0:
            return free
        rng = generator(self.seed, "sampling", state.round + 1)
        if not self.per_flock:
            return np.sort(self._some(free, rng))
        pools = [free[state.labels[free] == flock] for flock in np.unique(state.labels[free])]
        drawn = [self._some(pool, rng) for pool in pools]
        return np.sort(np.concatenate(drawn))

    def _some(self, pool: Labels, rng: np.random.Generator) -> Labels:
        count = max(round(self.fraction * len(pool)), 1)
        return rng.choice(pool, size=count, replace=False)
