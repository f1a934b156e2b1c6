"""How alike clients are: `cosine` (similarity), `l1`, `l2`, `trusted` (distances); each (clients, clients).

`Evidence` keeps the cosines of the latest updates over the rounds.
"""

from flockwise.similarity.cosine import cosine
from flockwise.similarity.evidence import Evidence
from flockwise.similarity.minkowski import l1, l2
from flockwise.similarity.trusted import trusted

__all__ = ["Evidence", "cosine", "l1", "l2", "trusted"]
