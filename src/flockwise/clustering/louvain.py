"""Louvain and Leiden community detection without a compiler, in NumPy.

Louvain: Blondel et al. 2008. Leiden: Traag, Waltman and van Eck 2019, here with the greedy choice of the
refinement (its randomness parameter at 0). Both differ from the papers in that the search is repeated from
several seeded starts, ends with moves of single clients, and works in an order that depends on the weights
and not on how the clients are numbered, so that the numbering does not change the flocks.

Resolution multiplies the null term as in networkx: a higher one gives more and smaller flocks. The
communities paper and python-louvain up to 0.15 use the inverse ("time") convention, where low values give
many small flocks: their resolution r is our 1 / r; at 1.0 both agree. python-louvain 0.16 mixes the two
conventions, so published values other than 1.0 made with it cannot be converted.
"""

from typing import Annotated, Any, Self

from flockwise.clustering.contract import Clusterer, clusterer
from flockwise.clustering.search import search
from flockwise.options import Count, Positive
from flockwise.types import Labels


def louvain(
    similarity: Any,
    resolution: float = 1.0,
    seed: int = 0,
    *,
    self_loops: bool = False,
    starts: int | None = None,
) -> Labels:
    """Flocks of high modularity in a graph whose edges are the similarities (dense or SciPy sparse).

    NaN means never compared and gives no edge. The diagonal is ignored unless `self_loops`. At most
    `starts` searches run (default 8, and 1 above 3000 clients); they end early when the best partition
    is found again (three times up to 500 clients). Clients without any edge stay alone.
    """
    return search(similarity, resolution, seed, self_loops, starts, leiden=False)


def leiden(
    similarity: Any,
    resolution: float = 1.0,
    seed: int = 0,
    *,
    self_loops: bool = False,
    starts: int | None = None,
) -> Labels:
    """As `louvain`, with flocks that are also connected inside; better on large sparse graphs."""
    return search(similarity, resolution, seed, self_loops, starts, leiden=True)


class _Communities(Clusterer):
    _connected: bool  # whether flocks must be connected inside, as Leiden's are

    def __init__(
        self,
        *,
        resolution: Annotated[Positive, "higher gives more and smaller flocks"] = 1.0,
        seed: Annotated[int, "of the searches; a run gives its own"] = 0,
        self_loops: Annotated[bool, "count the diagonal of the similarities too"] = False,
        starts: Annotated[Count | None, "most searches; none: 8, and 1 above 3000 clients"] = None,
    ) -> None:
        self.resolution, self.seed, self.self_loops, self.starts = resolution, seed, self_loops, starts

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the flocks in similarities (clients x clients), dense or sparse."""
        connected = self._connected
        self.labels_ = search(X, self.resolution, self.seed, self.self_loops, self.starts, leiden=connected)
        return self


@clusterer(
    "Communities of high modularity in the similarities.",
    takes="similarity",
    paper="Blondel et al., Fast unfolding of communities in large networks, 2008",
)
class Louvain(_Communities):
    """Flocks of high modularity in a graph whose edges are the similarities; see `louvain`."""

    _connected = False


@clusterer(
    "As louvain, with flocks that are connected inside.",
    takes="similarity",
    paper="Traag, Waltman and van Eck, From Louvain to Leiden, 2019",
)
class Leiden(_Communities):
    """As `Louvain`, with flocks that are also connected inside; better on large sparse graphs."""

    _connected = True
