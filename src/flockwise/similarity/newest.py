"""The newest row of each client, and when it came."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.kernels.checks import as_count, as_updates, refuse_not_finite
from flockwise.similarity.table import ClientTable
from flockwise.types import Mask, Updates


class Newest:
    """Memory of the newest row of each client; `update` gives the memory after it, and leaves this one as it was.

    The arrays have room for all clients, but the system gives memory only to the rows of clients heard.
    """

    def __init__(
        self, clients: int, dimension: int, max_age: int | None = None, table: ClientTable | None = None
    ) -> None:
        self.clients = as_count(clients, "clients", 1)
        self.dimension = as_count(dimension, "dimension", 1)
        self.max_age = None if max_age is None else as_count(max_age, "max_age", 0)
        self._table = table or self._empty()

    def _empty(self) -> ClientTable:
        return ClientTable(
            {
                "round": np.full(self.clients, -1, dtype=np.int64),  # of the newest row
                "rows": np.zeros((self.clients, self.dimension), dtype=np.float32),  # zero where never heard
            }
        )

    @property
    def round(self) -> NDArray[np.int64]:
        """The round of each client's newest row; -1 where never heard."""
        return self._table["round"]

    @property
    def rows(self) -> Updates:
        """The newest rows."""
        return self._table["rows"]

    @property
    def heard(self) -> Mask:
        """Which clients have ever sent anything."""
        return self.round >= 0

    def update(self, clients: Any, rows: Any, round: int) -> Self:
        """The memory with these clients' rows of this round instead of their earlier ones."""
        who = np.asarray(clients, dtype=np.intp)
        if not who.size:
            return self
        new = as_updates(rows, "rows")
        self._check(who, new, round)
        return self._with(self._changed(who, new, round))

    def _changed(self, who: NDArray[np.intp], new: Updates, round: int) -> ClientTable:
        return self._table.changed(who, rows=new, round=np.full(len(who), round))

    def _with(self, table: ClientTable) -> Self:
        return type(self)(self.clients, self.dimension, self.max_age, table)

    def with_age(self, max_age: int | None) -> Self:
        """The same memory with another limit of age."""
        return type(self)(self.clients, self.dimension, max_age, self._table)

    def usable(self, round: int | None = None) -> Mask:
        """Which clients were heard at most `max_age` rounds before this round (the latest if not given)."""
        if self.max_age is None:
            return self.heard
        now = int(self.round.max()) if round is None else round
        return self.heard & (now - self.round <= self.max_age)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything needed to go on: the arrays themselves, since a copy can be most of a gigabyte."""
        limit = -1 if self.max_age is None else self.max_age
        return {"max_age": np.array([limit], dtype=np.int64), **self._table.arrays()}

    def _check(self, who: NDArray[np.intp], new: Updates, round: int) -> None:
        if who.ndim != 1 or new.shape != (len(who), self.dimension):
            raise InputError(f"rows of shape {new.shape}: must be ({len(who)}, {self.dimension})")
        if who.min() < 0 or who.max() >= self.clients:
            raise InputError(f"clients: must be from 0 to {self.clients - 1}, got {who.min()} to {who.max()}")
        if len(np.unique(who)) != len(who):
            raise InputError("clients: must not name a client twice; keep its latest update")
        as_count(round, "round", 0)
        refuse_not_finite(new, "rows")


def age_of(arrays: Any) -> int | None:
    """The limit of age that saved arrays hold."""
    limit = int(arrays["max_age"][0])
    return None if limit < 0 else limit
