"""The clients of a run as a table: a row for each that is made when somebody looks at it."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import numpy as np

NUMBERS = ("truth", "attacker", "train", "validation", "test")  # what is kept of each of very many clients
UNKNOWN = -1  # the truth of clients of whom nobody knows it


class ClientTable(Sequence[dict[str, Any]]):
    """Very many clients, who have no names: kept as columns, read as rows."""

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        length = min((len(column) for column in columns.values()), default=0)
        unknown = np.broadcast_to(np.int64(UNKNOWN), length)
        self._columns = {name: columns.get(name, unknown)[:length] for name in NUMBERS}

    def __len__(self) -> int:
        return len(self._columns["truth"])

    @overload
    def __getitem__(self, client: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, client: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, client: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """One client's record, or those of a slice."""
        if isinstance(client, slice):
            return [self[each] for each in range(*client.indices(len(self)))]
        place = range(len(self))[client]
        numbers: dict[str, Any] = {name: int(column[place]) for name, column in self._columns.items()}
        truth = None if numbers["truth"] == UNKNOWN else numbers["truth"]
        return {
            "client": place, "name": f"client {place}", **numbers, "truth": truth,
            "address": None, "hour": None, "user": None, "about": {},
        }  # fmt: skip


def listed(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """One column of a table of rows."""
    return np.array([UNKNOWN if row[name] is None else row[name] for row in rows], dtype=np.int64)
