"""How often clients' models are tested where nobody says: as often as a small part of a round's work allows.

It follows from the sizes of the federation alone, never from a clock, so that the same run is tested in the same rounds.
"""

import math
from typing import Literal

from flockwise.engine.client_work import ClientWork
from flockwise.types import Clients

SHARE = 0.1  # of the work of a round's training
PASSES = 3  # what training on a sample takes beside testing on it: forward, and twice that back
FEWEST = 20  # tests that a run has all the same, so that there is a curve to look at
# What changes every client's model at once is tested in the round in which it happens.
TELLING = frozenset({"flocks", "split", "quarantine", "rollback"})


def rounds_between(
    every: int | Literal["auto"], work: ClientWork, fraction: float, rounds: int, some: Clients | None = None
) -> int:
    """The rounds from one test to the next: `every`, or with "auto" what the sizes say (of those who are tested)."""
    if every != "auto":
        return every
    sizes = work.federation.sizes("train")
    trained = max(fraction * len(sizes), 1) * float(sizes.mean()) * work.recipe.epochs * PASSES
    tested = int((work.tested() if some is None else work.tested()[some]).sum())
    return max(1, min(math.ceil(tested / max(SHARE * trained, 1)), rounds // FEWEST))
