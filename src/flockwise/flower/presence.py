"""Only clients that are online are asked to train."""

from dataclasses import dataclass, field, replace

import numpy as np

from flockwise.pieces.sampling import Sampler
from flockwise.pieces.state import CONFIRMED, State
from flockwise.types import Labels


@dataclass(frozen=True)
class PresentClients:
    """A method's sampler, over the clients in `present`; the same draw as ever when everyone is there."""

    sampler: Sampler
    present: set[int] = field(default_factory=set)

    def draw(self, state: State, everyone: bool = False) -> Labels:
        """The clients of the next round, in order of id."""
        here = np.isin(np.arange(state.clients), list(self.present))
        return self.sampler.draw(replace(state, apart=np.where(here, state.apart, CONFIRMED)), everyone)
