"""Evidence: the latest update of each client, and the inner products between them, kept up to date.

Only the rows and columns of clients that were heard are computed again. Clients never heard, or heard too
long ago, are told apart from clients with similarity 0: their entries are NaN.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.kernels.checks import as_count, as_updates, refuse_not_finite
from flockwise.kernels.gram import cross
from flockwise.similarity.cosine import from_products
from flockwise.types import Mask, Square, Updates


class Evidence:
    """Memory of the latest update of each client.

    The arrays have room for all clients, but the system gives memory only to the rows of clients heard.
    """

    def __init__(self, clients: int, dimension: int, max_age: int | None = None) -> None:
        self.clients = as_count(clients, "clients", 1)
        self.dimension = as_count(dimension, "dimension", 1)
        self.max_age = None if max_age is None else as_count(max_age, "max_age", 0)
        self.round: NDArray[np.int64] = np.full(clients, -1, dtype=np.int64)  # of the latest update
        self.rows: Updates = np.zeros((clients, dimension), dtype=np.float32)  # zero where never heard
        self._products: Square = np.zeros((clients, clients))

    @property
    def heard(self) -> Mask:
        """Which clients have ever sent an update."""
        return self.round >= 0

    def update(self, clients: Any, rows: Any, round: int) -> None:
        """Remember these clients' updates of this round instead of their earlier ones."""
        who = np.asarray(clients, dtype=np.intp)
        if not who.size:
            return
        new = as_updates(rows, "rows")
        self._check(who, new, round)
        self.rows[who] = new
        self.round[who] = round
        heard = np.flatnonzero(self.heard)
        products = cross(new, self.rows, heard)
        self._products[np.ix_(who, heard)] = products
        self._products[np.ix_(heard, who)] = products.T

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
        cosines[pairs] = from_products(self._products[pairs])
        return cosines

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything needed to go on: the arrays themselves, since a copy can be most of a gigabyte."""
        limit = -1 if self.max_age is None else self.max_age
        return {
            "max_age": np.array([limit], dtype=np.int64),
            "round": self.round,
            "rows": self.rows,
            "products": self._products,
        }

    @classmethod
    def from_state(cls, state: dict[str, NDArray[Any]]) -> "Evidence":
        """Go on from a state with the same bits; takes the arrays over if they can be written to."""
        rows = np.require(state["rows"], np.float32, ["C", "W"])
        limit = int(state["max_age"][0])
        evidence = cls.__new__(cls)
        evidence.clients, evidence.dimension = rows.shape
        evidence.max_age = None if limit < 0 else limit
        evidence.rows = rows
        evidence.round = np.require(state["round"], np.int64, ["C", "W"])
        evidence._products = np.require(state["products"], np.float64, ["C", "W"])
        return evidence

    def _check(self, who: NDArray[np.intp], new: Updates, round: int) -> None:
        if who.ndim != 1 or new.shape != (len(who), self.dimension):
            raise InputError(f"rows of shape {new.shape}: must be ({len(who)}, {self.dimension})")
        if who.min() < 0 or who.max() >= self.clients:
            raise InputError(f"clients: must be from 0 to {self.clients - 1}, got {who.min()} to {who.max()}")
        if len(np.unique(who)) != len(who):
            raise InputError("clients: must not name a client twice; keep its latest update")
        as_count(round, "round", 0)
        refuse_not_finite(new, "rows")
