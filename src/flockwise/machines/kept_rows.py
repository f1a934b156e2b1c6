"""Which node has which client's newest row of what it keeps: only what is news to a node is sent to it."""

import numpy as np

from flockwise.types import Clients


class KeptRows:
    """A number for each row that grows as it changes, and the number that each node has seen."""

    def __init__(self, clients: int) -> None:
        self._newest = np.zeros(clients, dtype=np.int64)  # every node begins with the rows of before training
        self._seen: dict[str, np.ndarray] = {}

    def news(self, node: str, clients: Clients) -> Clients:
        """Of these clients, those whose row this node must be sent; from now on it has them."""
        seen = self._seen.setdefault(node, np.zeros_like(self._newest))
        found: Clients = clients[seen[clients] != self._newest[clients]]
        seen[found] = self._newest[found]
        return found

    def changed(self, clients: Clients, node: str | None = None) -> None:
        """New rows of these clients, made on this node."""
        self._newest[clients] += 1
        if node in self._seen:
            self._seen[node][clients] = self._newest[clients]

    def forget(self, node: str) -> None:
        """A node that is gone."""
        self._seen.pop(node, None)
