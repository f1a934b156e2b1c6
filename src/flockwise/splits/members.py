"""Which client is of which group, where groups differ in how many clients they have."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError


def checked_groups(clients: int, groups: int, sizes: Sequence[int]) -> NDArray[np.int64]:
    """The clients of each group, which must add up to all of them."""
    room = np.asarray(sizes, dtype=np.int64)
    if room.shape != (groups,) or room.min() < 1 or room.sum() != clients:
        raise InputError(
            f"group_sizes = {list(sizes)}: must be {groups} numbers of at least 1 that add up to "
            f"{clients}, the number of clients"
        )
    return room


def members_in_turn(room: NDArray[np.int64]) -> NDArray[np.int64]:
    """The group of each client, dealt in turn to the groups that still have room.

    >>> members_in_turn(np.array([3, 1])).tolist()
    [0, 1, 0, 0]
    """
    groups = np.repeat(np.arange(len(room)), room)
    turns = np.concatenate([np.arange(size) for size in room])
    return groups[np.lexsort((groups, turns))]
