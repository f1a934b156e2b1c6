"""How alike clients are: `cosine` (similarity), `l1`, `l2`, `trusted` (distances); each (clients, clients).

`Evidence` keeps the cosines of the latest updates over the rounds.
"""

from typing import TYPE_CHECKING, Any

from flockwise.similarity.cosine import cosine, one_plus_cosine
from flockwise.similarity.evidence import Evidence
from flockwise.similarity.measure import SIMILARITIES, Measure, as_measure, similarity
from flockwise.similarity.minkowski import l1, l2
from flockwise.similarity.table import Table
from flockwise.similarity.trusted import trusted

__all__ = [
    "SIMILARITIES", "Evidence", "Measure", "Table", "as_measure", "cosine", "l1", "l2", "one_plus_cosine", "similarity",
    "trusted",
]  # fmt: skip

if not TYPE_CHECKING:  # for a type checker only the names above exist

    def __getattr__(name: str) -> Any:
        return SIMILARITIES.exported(name)
