"""How alike clients are: `cosine` (similarity), `l1`, `l2`, `trusted` (distances); each (clients, clients).

`Evidence` keeps the cosines of the latest updates over the rounds.

For type checkers and editors `make docs` writes the names of all files into `__init__.pyi`.
"""

from flockwise.similarity.evidence import Evidence
from flockwise.similarity.measure import SIMILARITIES, Measure, as_measure, similarity
from flockwise.similarity.table import ClientTable

__all__ = ["SIMILARITIES", "ClientTable", "Evidence", "Measure", "as_measure", "similarity"]
__all__ += [piece.function.__name__ for piece in SIMILARITIES.values()]
