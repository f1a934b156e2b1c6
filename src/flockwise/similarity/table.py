"""Arrays with a row for each client, too large to copy every round."""

from collections.abc import Mapping
from typing import Any

import numpy as np


class ClientTable:
    """Named arrays by client. Changing some clients' rows gives a new version, which takes the memory over.

    The old version still reads as it was: it keeps the rows that it lost and knows its successor, and is put together
    again if somebody asks (persistent arrays, Baker 1991). Nobody pays for that but who holds on to an old version.
    Names in `squares` are symmetric, client by client: with a row its column changes too.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], squares: frozenset[str] = frozenset()) -> None:
        self._held: dict[str, np.ndarray] | None = dict(arrays)
        self._squares = squares
        self._later: ClientTable | None = None
        self._lost: list[tuple[str, Any, np.ndarray]] = []  # what was in which part of which array

    def __getitem__(self, name: str) -> np.ndarray:
        return self.arrays()[name]

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays of this version, not to be written to."""
        if self._held is None:
            versions, newest = [self], self._later
            while newest is not None and newest._held is None:
                versions.append(newest)
                newest = newest._later
            assert newest is not None and newest._held is not None
            held = {name: array.copy() for name, array in newest._held.items()}
            for version in reversed(versions):
                for name, part, before in version._lost:
                    held[name][part] = before
            self._held = held
        return self._held

    def changed(self, clients: np.ndarray, **rows: np.ndarray) -> "ClientTable":
        """A version in which these clients have other rows."""
        arrays = self.arrays()
        columns = (slice(None), clients)
        changes: list[tuple[str, Any, np.ndarray]] = [(name, clients, new) for name, new in rows.items()]
        changes += [(name, columns, new.T) for name, new in rows.items() if name in self._squares]
        self._lost = [(name, part, arrays[name][part]) for name, part, _ in changes]
        for name, part, new in changes:
            arrays[name][part] = new
        self._held, self._later = None, ClientTable(arrays, self._squares)
        return self._later
