"""The truth about clients, as far as a simulation knows it: for judging runs, and for upper bounds."""

from collections.abc import Callable

import numpy as np

from flockwise.data import Federation
from flockwise.errors import ConfigError
from flockwise.stages.method import Method
from flockwise.types import Labels


def ground_truth(federation: Federation, attackers: frozenset[int]) -> np.ndarray | None:
    """The true flock of each client: its group, and whether it lies."""
    groups = federation.groups
    if groups is None and not attackers:
        return None
    lies = np.zeros(federation.clients, dtype=np.int64)
    lies[list(attackers)] = 1
    return lies if groups is None else 2 * groups + lies


def truth_for(
    method: Method, now: Federation, later: Federation | None, drift_round: int, attackers: frozenset[int]
) -> Callable[[int], Labels] | None:
    """The true flocks of a round, for a method that says it reads them; nothing for any other."""
    if not method.reads_truth:
        return None
    if now.groups is None:
        raise ConfigError(
            f"strategy.name = {method.name!r}: reads the split's groups, and this split knows none; choose one that does, "
            "such as 'label_swap'"
        )
    truths = [ground_truth(federation, attackers) for federation in (now, later or now)]
    numbers = np.unique(np.stack([truth for truth in truths if truth is not None]), return_inverse=True)[1]
    first, second = numbers.reshape(2, -1)
    return lambda round: second if later is not None and round >= drift_round else first
