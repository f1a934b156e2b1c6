"""Who trains in a round."""

from collections.abc import Callable

import numpy as np

from flockwise.rng import generator
from flockwise.stages.stage import Round
from flockwise.stages.state import UNPLACED, flocks_in
from flockwise.types import Clients

Draw = Callable[[Round], Clients]  # the clients of the round, in order of id


def everyone(round: Round) -> Clients:
    """Every client that is free and can be reached."""
    free = round.state.free
    return np.flatnonzero(free if round.present is None else free & round.present)


def sample(round: Round) -> Clients:
    """The setting's fraction of each flock, at least one client of each; clients without a flock count as one."""

    def pools(free: Clients) -> list[Clients]:
        labels = round.state.labels[free]
        placed = [free[labels == flock] for flock in flocks_in(labels)]
        alone = free[labels == UNPLACED]
        return [alone, *placed] if len(alone) else placed

    return _drawn(round, pools)


def sample_from_all(round: Round) -> Clients:
    """The setting's fraction of all clients, whatever their flocks."""
    return _drawn(round, lambda free: [free])


def _drawn(round: Round, pools_of: Callable[[Clients], list[Clients]]) -> Clients:
    free, fraction = everyone(round), round.setting.fraction
    if fraction >= 1.0 or len(free) == 0:
        return free
    rng = generator(round.setting.seed, "sampling", round.number)
    counted = [(pool, max(_nearest(fraction * len(pool)), 1)) for pool in pools_of(free)]
    return np.sort(np.concatenate([rng.choice(pool, size=count, replace=False) for pool, count in counted]))


def _nearest(value: float) -> int:
    return int(np.rint(value))
