"""An order of rows that depends on what they hold, not on where they stand."""

import numpy as np
from numpy.typing import NDArray

from flockwise.kernels.stored import Matrix

SAME = 1e-6  # scores closer than this, relative to the larger, count as a tie


def rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values to 24 bits, of any size: what differs in rounding only becomes equal."""
    parts, powers = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(parts * 2.0**24), powers - 24))


def content_order(rows: Matrix) -> NDArray[np.intp]:
    """Indices that sort the rows lexicographically; equal rows keep their order."""
    return _sorted(rows, np.arange(len(rows)))


def lowest(
    scores: NDArray[np.float64], count: int, rows: Matrix, members: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Indices of the `count` rows with the lowest scores; ties go to the lexicographically smaller row.

    With `members`, the scores are those of these rows only.
    """
    if members is None:
        members = np.arange(len(rows))
    ranking = np.argsort(scores, kind="stable")
    order, ranked = members[ranking], scores[ranking]
    if count >= len(order):
        return order
    gaps = np.diff(ranked) > SAME * np.abs(ranked[1:])
    starts = np.concatenate([[0], np.flatnonzero(gaps) + 1, [len(order)]])
    at = int(np.searchsorted(starts, count - 1, side="right"))
    first, last = int(starts[at - 1]), int(starts[at])
    if last > first + 1:
        order[first:last] = _sorted(rows, np.sort(order[first:last]))
    return order[:count]


def _sorted(rows: Matrix, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """Groups that agree so far wait with the column to go on from; attackers choose how many there are."""
    done: list[NDArray[np.intp]] = []
    waiting = [(members, 0)]
    while waiting:
        group, start = waiting.pop()
        parts = _split(rows, group, start)
        if len(parts) == 1:
            done.append(parts[0][0])
        else:
            waiting += reversed(parts)
    return np.concatenate(done) if done else members


def _split(rows: Matrix, members: NDArray[np.intp], start: int) -> list[tuple[NDArray[np.intp], int]]:
    """The members by the first column from `start` on in which they differ, and the column after it."""
    columns = rows.shape[1]
    while len(members) > 1 and start < columns:
        stop = min(max(2 * start, start + 16), columns)
        part = rows[members, start:stop]
        differs = (part != part[0]).any(axis=0)
        if differs.any():
            first = int(np.argmax(differs))
            ranked = np.argsort(part[:, first], kind="stable")
            cuts = np.flatnonzero(np.diff(part[ranked, first])) + 1
            return [(group, start + first + 1) for group in np.split(members[ranked], cuts)]
        start = stop
    return [(members, columns)]
