"""Krum and Multi-Krum: keep the updates whose nearest neighbours are nearest.

Blanchard, El Mhamdi, Guerraoui, Stainer: Machine Learning with Adversaries, NeurIPS 2017. Helps when
honest updates lie close together; with very different clients it favours the largest group.
Distances are taken with centring where needed, and the client itself is never its own neighbour.
"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from flockwise.aggregation.rule import rule
from flockwise.errors import InputError
from flockwise.kernels.checks import as_count, as_updates, need_clients
from flockwise.kernels.combine import weighted_sum
from flockwise.kernels.gram import squared_distances
from flockwise.kernels.order import lowest
from flockwise.options import Count
from flockwise.types import Square, Updates, Vector

Strict = Annotated[bool | None, "refuse groups too small for the guarantee; not set: not inside flocks"]
Neighbours = Annotated[Literal["paper", "n-f-1"], "how many neighbours count"]


def _fewest(f: int = 0, strict: bool | None = None, **options: Any) -> int:
    return 3 if strict is False else 2 * f + 3  # of two updates, neither is nearer to the other


def _fewest_of_many(f: int = 0, m: int | None = None, strict: bool | None = None, **options: Any) -> int:
    return max(_fewest(f, strict), m or 1)


@rule(
    "the one update closest to its nearest neighbours",
    needs="K >= 2f + 3",
    tolerates="f <= (K - 3) / 2",
    cost="all pairwise distances, K^2 d",
    minimum=_fewest,
    example={"f": 2},
    bounded=True,
    exact_order=True,
)
def krum(updates: Any, f: int, strict: Strict = None, neighbours: Neighbours = "paper") -> Vector:
    """The one update with the lowest sum of squared distances to its K - f - 2 nearest others.

    Needs K >= 2f + 3. `strict=False` gives up that guarantee for small groups and uses at least one
    neighbour. `neighbours="n-f-1"` counts one more, as ByzFL does. Ties go to the lexicographically smaller
    update, so the order of clients does not matter.
    """
    rows = as_updates(updates)
    chosen: Vector = rows[krum_selection(rows, f, 1, strict, neighbours)[0]]
    return chosen.copy()


@rule(
    "mean of the m updates with the best Krum scores",
    needs="K >= 2f + 3 and K >= m",
    tolerates="f <= (K - 3) / 2",
    cost="all pairwise distances, K^2 d",
    minimum=_fewest_of_many,
    example={"f": 2},
    bounded=True,
    mean_with={"f": 0},
)
def multi_krum(
    updates: Any,
    f: int,
    m: Annotated[Count | None, "updates to keep; K - f if not given"] = None,
    strict: Strict = None,
    neighbours: Neighbours = "paper",
) -> Vector:
    """The unweighted mean of the m updates with the lowest Krum scores; m is K - f if not given."""
    rows = as_updates(updates)
    kept = max(1, len(rows) - f) if m is None else as_count(m, "m", 1, len(rows))
    chosen = krum_selection(rows, f, kept, strict, neighbours)
    coefficients = np.zeros(len(rows))
    coefficients[chosen] = 1.0 / kept
    return weighted_sum(rows, coefficients)


def krum_selection(
    rows: Updates, f: int, m: int, strict: bool | None = None, neighbours: str = "paper"
) -> NDArray[np.intp]:
    """Indices of the m clients with the lowest Krum scores, best first."""
    clients = len(rows)
    as_count(f, "f", 0)
    if strict is not False:
        need_clients(clients, 2 * f + 3, f, "Krum", "set strict = False to go without its guarantee")
    if neighbours not in ("paper", "n-f-1"):
        raise InputError(f'neighbours = {neighbours!r}: must be "paper" (K - f - 2) or "n-f-1"')
    nearest = clients - f - (2 if neighbours == "paper" else 1)
    scores = krum_scores(squared_distances(rows), nearest)
    return lowest(scores, m, rows)


def krum_scores(distances: Square, nearest: int) -> NDArray[np.float64]:
    """Sum of each client's smallest squared distances to others, at least one and at most all of them."""
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    others.sort(axis=1)
    count = min(max(nearest, 1), len(distances) - 1)
    total: NDArray[np.float64] = others[:, :count].sum(axis=1)
    return total
