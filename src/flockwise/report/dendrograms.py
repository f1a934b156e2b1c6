"""Dendrograms as lines, with small branches folded so that a thousand clients stay readable."""

from typing import Any

import numpy as np

from flockwise.report.encoding import number, numbers
from flockwise.report.places import Places
from flockwise.store import Run

MOST_LEAVES = 150


def dendrograms(run: Run, known: Places) -> list[dict[str, Any]]:
    """The newest dendrograms on record, at most three."""
    pages = []
    for round in run.kept("dendrogram")[-3:]:
        merges = run.array_at("dendrogram", round)
        places = known.at(round)
        if merges is None or merges.ndim != 2 or merges.shape[1] != 4 or not len(merges) or places is None:
            continue
        clients = _who(run, round, len(merges) + 1, len(places))
        if clients is not None and _sound(merges):
            pages.append({"round": round, **_drawn(merges.astype(np.float64), clients, places)})
    return pages


def _who(run: Run, round: int, leaves: int, everyone: int) -> np.ndarray | None:
    """Which client each leaf is: all of them, or those that trained in this round."""
    if leaves == everyone:
        return np.arange(everyone)
    trained = run.array_at("trained", round)
    clients = np.flatnonzero(trained) if trained is not None else np.zeros(0, np.int64)
    return clients if len(clients) == leaves else None


def _sound(merges: np.ndarray) -> bool:
    children = merges[:, :2]
    limit = len(merges) + 1 + np.arange(len(merges))
    return bool(np.isfinite(merges).all() and (children >= 0).all() and (children < limit[:, None]).all())


def _drawn(merges: np.ndarray, clients: np.ndarray, places: np.ndarray) -> dict[str, Any]:
    leaves = len(merges) + 1
    folded = max(leaves - MOST_LEAVES, 0)  # this many of the lowest merges are not drawn
    members: list[list[int]] = [[leaf] for leaf in range(leaves)]
    members += [[] for _ in merges]
    for i, (a, b) in enumerate(merges[:, :2].astype(int)):
        members[leaves + i] = members[a] + members[b]
    ends = _ends(merges, leaves, folded)
    position = {node: i for i, node in enumerate(ends)}
    middle = {node: float(i) for node, i in position.items()}
    height = {node: 0.0 if node < leaves else float(merges[node - leaves, 2]) for node in ends}
    lines = []
    for i in range(folded, len(merges)):
        a, b = int(merges[i, 0]), int(merges[i, 1])
        top = float(merges[i, 2])
        inside = np.unique(places[clients[members[leaves + i]]])
        flock = int(inside[0]) if len(inside) == 1 else None
        lines.append([*numbers([middle[a], middle[b], height[a], height[b], top]), flock])
        middle[leaves + i], height[leaves + i] = (middle[a] + middle[b]) / 2, top
    shown = [{"client": int(clients[members[n][0]]), "count": len(members[n]), "place": int(places[clients[members[n][0]]])}
             for n in ends]  # fmt: skip
    return {"lines": lines, "leaves": shown, "cut": number(_cut(merges, clients, places))}


def _ends(merges: np.ndarray, leaves: int, folded: int) -> list[int]:
    """The nodes drawn as leaves, left to right."""
    ends, stack = [], [leaves + len(merges) - 1]
    while stack:
        node = stack.pop()
        if node < leaves + folded:
            ends.append(node)
        else:
            a, b = merges[node - leaves, :2].astype(int)
            stack += [int(b), int(a)]
    return ends


def _cut(merges: np.ndarray, clients: np.ndarray, places: np.ndarray) -> float | None:
    """A height that gives as many flocks as were found."""
    flocks = len(np.unique(places[clients][places[clients] >= 0]))
    heights = np.sort(merges[:, 2])
    if not 1 < flocks <= len(heights):
        return None
    return float(heights[-flocks] + heights[-flocks + 1]) / 2
