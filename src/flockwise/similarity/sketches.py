"""The newest sketch of each client: what is kept of updates where all of them would be too much."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.similarity.newest import Newest, age_of
from flockwise.similarity.table import ClientTable


class Kind(NamedTuple):
    """What sketches must share to be compared: of how many numbers, to how many, drawn from which seed."""

    size: int
    width: int
    seed: int

    @property
    def lost(self) -> float:
        """The variance of a cosine of 0; rows no longer than a sketch keep everything."""
        return 0.0 if self.size <= self.width else 1.0 / self.width


class Sketches(Newest):
    """Memory of the newest sketch of each client; sketches of another kind cannot be compared with these."""

    @classmethod
    def empty(cls, clients: int, kind: Kind, max_age: int | None = None) -> "Sketches":
        """Nobody has been heard yet."""
        rows = cls(clients, kind.width)._table.arrays()
        return cls(
            clients, kind.width, max_age, ClientTable({**rows, "kind": np.array(kind, dtype=np.int64)})
        )

    @property
    def kind(self) -> Kind:
        """Which sketches these are."""
        return Kind(*self._table["kind"].tolist())

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "Sketches":
        """Go on from saved arrays with the same bits; takes them over if they can be written to."""
        kinds = {"round": np.int64, "rows": np.float32, "kind": np.int64}
        held = {name: np.require(arrays[name], kind, ["C", "W"]) for name, kind in kinds.items()}
        clients, width = held["rows"].shape
        return cls(clients, width, age_of(arrays), ClientTable(held))
