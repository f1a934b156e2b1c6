"""What the server knows between rounds: a handful of arrays, so that saving it needs no code per method."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from flockwise.types import Labels, Mask, Models

UNPLACED = -1  # a client that no flock has been found for yet
FREE, QUARANTINED, CONFIRMED = 0, 1, 2  # values of State.apart

# What pieces remember: arrays, or a large memory that is changed in place and gives its arrays by `state()`.
Memory = Mapping[str, Any]


def flocks_in(labels: Labels) -> Labels:
    """The flocks that occur among labels, in order."""
    return np.flatnonzero(np.bincount(labels[labels != UNPLACED]))  # np.unique takes ten times as long


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
        return np.asarray(self.apart == FREE)

    @property
    def flocks(self) -> int:
        """How many flocks have members."""
        return len(flocks_in(self.labels))

    def remember(self, **memories: Any) -> "State":
        """The same state with some memories replaced; one kept whole replaces its saved arrays."""
        kept = {n: m for n, m in self.memory.items() if n.partition("/")[0] not in memories}
        return replace(self, memory={**kept, **memories})

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays, for a checkpoint."""
        own: dict[str, np.ndarray] = {
            "round": np.array([self.round], dtype=np.int64),
            "models": self.models,
            "labels": self.labels,
            "apart": self.apart,
        }
        for name, memory in self.memory.items():
            parts = (
                {f"{name}/{key}": array for key, array in memory.state().items()}
                if hasattr(memory, "state")
                else None
            )
            own |= {f"memory/{key}": array for key, array in (parts or {name: memory}).items()}
        return own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "State":
        """The inverse of `to_arrays`."""
        memory = {n.removeprefix("memory/"): a for n, a in arrays.items() if n.startswith("memory/")}
        return cls(int(arrays["round"][0]), arrays["models"], arrays["labels"], arrays["apart"], memory)


def all_alike(models: Models) -> bool:
    """Whether there is nothing to choose between."""
    return all(np.array_equal(models[0], model) for model in models[1:])


def largest_flock(state: State) -> int:
    """The flock with most free members; the lowest number wins a tie."""
    placed = state.labels[(state.labels != UNPLACED) & state.free]
    return int(np.bincount(placed).argmax()) if len(placed) else 0


def first_state(initial: Models, clients: int) -> State:
    """The state before round 1: everyone in flock 0, nobody set apart."""
    return State(
        round=0,
        models=np.ascontiguousarray(initial, dtype=np.float32),
        labels=np.zeros(clients, dtype=np.int64),
        apart=np.zeros(clients, dtype=np.int8),
    )
