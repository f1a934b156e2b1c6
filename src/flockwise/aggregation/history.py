"""A row of numbers that a rule remembers of each client it has seen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.types import Labels, Updates


@dataclass(frozen=True)
class History:
    """What is remembered of the clients of this round; zeros for one that was never seen."""

    name: str
    clients: Labels  # of this round
    known: Labels  # everyone seen so far
    table: Updates  # their rows
    rows: Updates  # those of this round's clients
    seen: NDArray[np.bool_]  # whether each of them was there before

    @classmethod
    def of(
        cls, memory: Mapping[str, np.ndarray], clients: Any, like: Updates, name: str = "history"
    ) -> "History":
        """From a rule's memory; `clients` are numbered from 0 if it is not said who they are."""
        who = np.arange(len(like)) if clients is None else np.asarray(clients, dtype=np.int64)
        if who.shape != (len(like),) or len(np.unique(who)) != len(who):
            raise InputError(f"clients of shape {who.shape}: must be ({len(like)},), each of them once")
        known = np.asarray(memory.get(f"{name}_clients", np.empty(0)), dtype=np.int64)
        empty = np.empty((0, like.shape[1]), dtype=np.float32)
        table = np.asarray(memory.get(name, empty), dtype=np.float32)
        if table.shape != (len(known), like.shape[1]):
            raise InputError(f"{name} of shape {table.shape}: must be ({len(known)}, {like.shape[1]})")
        places = np.searchsorted(known, who)
        seen = places < len(known)
        seen[seen] = known[places[seen]] == who[seen]
        rows = np.zeros(like.shape, dtype=np.float32)
        rows[seen] = table[places[seen]]
        return cls(name, who, known, table, rows, seen)

    def followed_by(self, rows: Updates) -> dict[str, np.ndarray]:
        """The memory with these rows for the clients of this round; everyone else's stay."""
        everyone = np.union1d(self.known, self.clients)
        table = np.zeros((len(everyone), rows.shape[1]), dtype=np.float32)
        table[np.searchsorted(everyone, self.known)] = self.table
        table[np.searchsorted(everyone, self.clients)] = rows
        return {self.name: table, f"{self.name}_clients": everyone}
