"""Evidence: the latest update of each client, and the inner products between them, kept up to date.

Only the rows and columns of clients that were heard are computed again. Clients never heard, or heard too
long ago, are told apart from clients with similarity 0: their entries are NaN.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.gram import cross
from flockwise.similarity.cosine import from_products
from flockwise.similarity.newest import Newest, age_of
from flockwise.similarity.table import ClientTable
from flockwise.types import Square, Updates


class Evidence(Newest):
    """Memory of the latest update of each client, with all their inner products."""

    def _empty(self) -> ClientTable:
        products = np.zeros((self.clients, self.clients))
        return ClientTable({**super()._empty().arrays(), "products": products}, frozenset({"products"}))

    def _changed(self, who: NDArray[np.intp], new: Updates, round: int) -> ClientTable:
        table = super()._changed(who, new, round)
        heard = np.flatnonzero(table["round"] >= 0)
        products = np.zeros((len(who), self.clients))
        products[:, heard] = cross(new, table["rows"], heard)
        return table.changed(who, products=products)

    def cosine(self, round: int | None = None) -> Square:
        """Cosines of all clients, 1 on the diagonal; NaN with a client never heard or too old."""
        usable = np.flatnonzero(self.usable(round))
        pairs = np.ix_(usable, usable)
        cosines = np.full((self.clients, self.clients), np.nan)
        cosines[pairs] = from_products(self._table["products"][pairs])
        return cosines

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Evidence":
        """Go on from saved arrays with the same bits; takes them over if they can be written to."""
        kinds = {"round": np.int64, "rows": np.float32, "products": np.float64}
        held = {name: np.require(arrays[name], kind, ["C", "W"]) for name, kind in kinds.items()}
        clients, dimension = held["rows"].shape
        return cls(clients, dimension, age_of(arrays), ClientTable(held, frozenset({"products"})))
