"""Evidence: the latest update of each client, and the inner products between them, kept up to date.

Only the rows and columns of clients that were heard are computed again. Clients never heard, or heard too
long ago, are told apart from clients with similarity 0: their entries are NaN.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.kernels.checks import as_count, as_updates, refuse_not_finite
from flockwise.kernels.gram import cross
from flockwise.similarity.cosine import from_products
from flockwise.similarity.table import Table
from flockwise.types import Mask, Square, Updates


class Evidence:
    """Memory of the latest update of each client; `update` gives the memory after it, and leaves this one as it was.

    The arrays have room for all clients, but the system gives memory only to the rows of clients heard.
    """

    def __init__(
        self, clients: int, dimension: int, max_age: int | None = None, table: Table | None = None
    ) -> None:
        self.clients = as_count(clients, "clients", 1)
        self.dimension = as_count(dimension, "dimension", 1)
        self.max_age = None if max_age is None else as_count(max_age, "max_age", 0)
        self._table = table or Table(
            {
                "round": np.full(clients, -1, dtype=np.int64),  # of the latest update
                "rows": np.zeros((clients, dimension), dtype=np.float32),  # zero where never heard
                "products": np.zeros((clients, clients)),
            },
            frozenset({"products"}),
        )

    @property
    def round(self) -> NDArray[np.int64]:
        """The round of each client's latest update; -1 where never heard."""
        return self._table["round"]

    @property
    def rows(self) -> Updates:
        """The latest updates."""
        return self._table["rows"]

    @property
    def heard(self) -> Mask:
        """Which clients have ever sent an update."""
        return self.round >= 0

    def update(self, clients: Any, rows: Any, round: int) -> "Evidence":
        """The memory with these clients' updates of this round instead of their earlier ones."""
        who = np.asarray(clients, dtype=np.intp)
        if not who.size:
            return self
        new = as_updates(rows, "rows")
        self._check(who, new, round)
        table = self._table.changed(who, rows=new, round=np.full(len(who), round))
        heard = np.flatnonzero(table["round"] >= 0)
        products = np.zeros((len(who), self.clients))
        products[:, heard] = cross(new, table["rows"], heard)
        return Evidence(self.clients, self.dimension, self.max_age, table.changed(who, products=products))

    def with_age(self, max_age: int | None) -> "Evidence":
        """The same memory with another limit of age."""
        return Evidence(self.clients, self.dimension, max_age, self._table)

    def usable(self, round: int | None = None) -> Mask:
        """Which clients were heard at most `max_age` rounds before this round (the latest if not given)."""
        if self.max_age is None:
            return self.heard
        now = int(self.round.max()) if round is None else round
        return self.heard & (now - self.round <= self.max_age)

    def cosine(self, round: int | None = None) -> Square:
        """Cosines of all clients, 1 on the diagonal; NaN with a client never heard or too old."""
        usable = np.flatnonzero(self.usable(round))
        pairs = np.ix_(usable, usable)
        cosines = np.full((self.clients, self.clients), np.nan)
        cosines[pairs] = from_products(self._table["products"][pairs])
        return cosines

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything needed to go on: the arrays themselves, since a copy can be most of a gigabyte."""
        limit = -1 if self.max_age is None else self.max_age
        return {"max_age": np.array([limit], dtype=np.int64), **self._table.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Evidence":
        """Go on from saved arrays with the same bits; takes them over if they can be written to."""
        kinds = {"round": np.int64, "rows": np.float32, "products": np.float64}
        held = {name: np.require(arrays[name], kind, ["C", "W"]) for name, kind in kinds.items()}
        limit = int(arrays["max_age"][0])
        clients, dimension = held["rows"].shape
        table = Table(held, frozenset({"products"}))
        return cls(clients, dimension, None if limit < 0 else limit, table)

    def _check(self, who: NDArray[np.intp], new: Updates, round: int) -> None:
        if who.ndim != 1 or new.shape != (len(who), self.dimension):
            raise InputError(f"rows of shape {new.shape}: must be ({len(who)}, {self.dimension})")
        if who.min() < 0 or who.max() >= self.clients:
            raise InputError(f"clients: must be from 0 to {self.clients - 1}, got {who.min()} to {who.max()}")
        if len(np.unique(who)) != len(who):
            raise InputError("clients: must not name a client twice; keep its latest update")
        as_count(round, "round", 0)
        refuse_not_finite(new, "rows")
