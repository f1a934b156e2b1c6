"""What the server knows between rounds: a handful of arrays, so that saving it needs no code per method."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from flockwise.types import Labels, Mask, Models

UNPLACED = -1  # a client that no flock has been found for yet
FREE, QUARANTINED, CONFIRMED = 0, 1, 2  # values of State.apart

Memory = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class State:
    """The server's state after a closed round."""

    round: int  # rounds closed so far
    models: Models  # (flocks, parameters)
    labels: Labels  # (clients,) flock of each client, or UNPLACED
    apart: np.ndarray  # (clients,) int8: FREE, QUARANTINED or CONFIRMED
    memory: Memory = field(default_factory=lambda: MappingProxyType({}))  # what the pieces remember, by name

    @property
    def clients(self) -> int:
        """How many clients there are, heard or not."""
        return len(self.labels)

    @property
    def free(self) -> Mask:
        """The clients that take part."""
        return self.apart == FREE

    @property
    def flocks(self) -> int:
        """How many flocks have members."""
        return len(np.unique(self.labels[self.labels != UNPLACED]))

    def remember(self, **arrays: np.ndarray) -> "State":
        """The same state with some memories replaced."""
        return replace(self, memory={**self.memory, **arrays})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays, for a checkpoint."""
        own = {"round": np.int64(self.round)[None], "models": self.models, "labels": self.labels, "apart": self.apart}
        return {**own, **{f"memory/{name}": array for name, array in self.memory.items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "State":
        """The inverse of `to_arrays`."""
        memory = {n.removeprefix("memory/"): a for n, a in arrays.items() if n.startswith("memory/")}
        return cls(int(arrays["round"][0]), arrays["models"], arrays["labels"], arrays["apart"], memory)


def first_state(initial: Models, clients: int) -> State:
    """The state before round 1: everyone in flock 0, nobody set apart."""
    return State(
        round=0,
        models=np.ascontiguousarray(initial, dtype=np.float32),
        labels=np.zeros(clients, dtype=np.int64),
        apart=np.zeros(clients, dtype=np.int8),
    )
