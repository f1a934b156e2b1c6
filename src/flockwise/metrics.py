"""How good flocks, models and detections are, as single numbers.

Accuracies are one number for each client, NaN where a client holds no data; those clients are left out.
A number that is not defined (nobody has data, nobody was flagged, a single flock) is NaN.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError
from flockwise.types import Labels, Mask, Square

Accuracies = NDArray[np.floating[Any]]  # (clients,), NaN: no data


class Detection(NamedTuple):
    """How well flagged clients are the attackers."""

    precision: float  # share of the flagged that are attackers
    recall: float  # share of the attackers that are flagged
    false_alarms: int  # honest clients flagged


def purity(labels: Labels, truth: Labels, kind: Literal["majority", "unmixed"] = "majority") -> float:
    """Share of clients in the right company, 1 if no flock mixes groups.

    `"majority"`, the usual purity: clients that belong to the most frequent group of their flock.
    `"unmixed"`, the stricter reading of FLIC's "percentage of clients grouped with others who follow the
    same data distributions": clients whose flock holds no other group. Both are 1 when every client is
    alone, so look at `adjusted_rand` too.
    """
    table = _contingency(labels, truth)
    if kind == "majority":
        right = table.max(axis=1).sum()
    elif kind == "unmixed":
        right = table[(table > 0).sum(axis=1) == 1].sum()
    else:
        raise InputError(f'kind = {kind!r}: must be "majority" or "unmixed"')
    return float(right) / float(table.sum())


def adjusted_rand(labels: Labels, truth: Labels) -> float:
    """Agreement of two partitions: 1 if the same, around 0 by chance (Hubert and Arabie 1985)."""
    table = _contingency(labels, truth)
    both, ours, theirs = _pairs(table), _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    everyone = _pairs(np.array([table.sum()]))
    if everyone == 0 or ours == theirs == both:
        return 1.0
    expected = ours * theirs / everyone
    return (both - expected) / ((ours + theirs) / 2 - expected)


def pairs_merged(labels: Labels, truth: Labels) -> float:
    """Of all pairs of clients of different groups, the share that is in one flock; NaN if all are of one group."""
    table = _contingency(labels, truth)
    same_group = _pairs(table.sum(axis=0))
    different = _pairs(np.array([table.sum()])) - same_group
    merged = _pairs(table.sum(axis=1)) - _pairs(table)
    return merged / different if different else float("nan")


def silhouette(distance: Square, labels: Labels) -> float:
    """Mean over clients of how much nearer the own flock is than the next (Rousseeuw 1987), from -1 to 1.

    A client alone in its flock counts as 0. A single flock has no next one: NaN. Pairs whose distance is
    NaN (never compared) are left out.
    """
    matrix = np.asarray(distance, dtype=np.float64)
    names = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if matrix.shape != (len(names), len(names)):
        raise InputError(
            f"distance has shape {matrix.shape}: must be {len(names)} x {len(names)}, as the labels"
        )
    flocks = int(names.max(initial=-1)) + 1
    if flocks < 2:
        return float("nan")
    known = ~np.isnan(matrix)
    np.fill_diagonal(known, False)
    rows = np.arange(len(names))
    member = np.zeros((len(names), flocks))
    member[rows, names] = 1.0
    pairs = known @ member
    mean = np.divide(
        np.where(known, matrix, 0.0) @ member, pairs, out=np.full(pairs.shape, np.inf), where=pairs > 0
    )
    own = mean[rows, names].copy()
    mean[rows, names] = np.inf
    other = mean.min(axis=1)
    alone = np.isinf(own)
    defined = alone | np.isfinite(other)
    usable = ~alone & np.isfinite(other) & (np.maximum(own, other) > 0)
    value = np.zeros(len(names))
    value[usable] = (other[usable] - own[usable]) / np.maximum(own, other)[usable]
    return float(value[defined].mean()) if defined.any() else float("nan")


def clients_at_target(accuracies: Accuracies, target: float) -> float:
    """Share of the clients with data whose accuracy is at least `target`."""
    known = _known(accuracies)
    return float((known >= target).mean()) if len(known) else float("nan")


def worst_client(accuracies: Accuracies) -> float:
    """The lowest accuracy of any client with data."""
    known = _known(accuracies)
    return float(known.min()) if len(known) else float("nan")


def per_group_accuracy(accuracies: Accuracies, labels: Labels) -> NDArray[np.float64]:
    """Mean accuracy of each group 0..C-1, clients with data only; negative labels are in no group."""
    values, names = np.asarray(accuracies, dtype=np.float64), np.asarray(labels)
    if values.shape != names.shape:
        raise InputError(f"labels has shape {names.shape}: must be {values.shape}, as the accuracies")
    counted = (names >= 0) & ~np.isnan(values)
    groups = int(names.max(initial=-1)) + 1
    clients = np.bincount(names[counted], minlength=groups)
    total = np.bincount(names[counted], values[counted], groups)
    mean: NDArray[np.float64] = np.divide(total, clients, out=np.full(groups, np.nan), where=clients > 0)
    return mean


def detection(flagged: Mask, attackers: Mask) -> Detection:
    """Precision, recall and false alarms of flagged clients; both masks have one entry for each client."""
    chosen, guilty = np.asarray(flagged), np.asarray(attackers)
    if chosen.dtype != bool or guilty.dtype != bool or chosen.shape != guilty.shape:
        raise InputError(
            f"flagged is {chosen.dtype} of shape {chosen.shape}, attackers {guilty.dtype} of {guilty.shape}: "
            "must be boolean masks of the same length"
        )
    caught, called, all_guilty = int((chosen & guilty).sum()), int(chosen.sum()), int(guilty.sum())
    precision = caught / called if called else float("nan")
    recall = caught / all_guilty if all_guilty else float("nan")
    return Detection(precision, recall, called - caught)


def _known(accuracies: Accuracies) -> NDArray[np.float64]:
    values = np.asarray(accuracies, dtype=np.float64).reshape(-1)
    known: NDArray[np.float64] = values[~np.isnan(values)]
    return known


def _contingency(labels: Labels, truth: Labels) -> NDArray[np.int64]:
    ours, theirs = np.asarray(labels), np.asarray(truth)
    if ours.ndim != 1 or ours.shape != theirs.shape or len(ours) == 0:
        raise InputError(
            f"labels has shape {ours.shape}, truth {theirs.shape}: must be one label for each client in both"
        )
    (row, rows), (column, columns) = _numbered(ours), _numbered(theirs)
    cells = np.bincount(row * columns + column, minlength=rows * columns)
    return cells.reshape(rows, columns).astype(np.int64)


def _numbered(labels: Labels) -> tuple[NDArray[np.int64], int]:
    """The labels as 0, 1, 2 ..., and how many there are."""
    # Flocks' numbers are close together, and then nothing need be sorted.
    if np.issubdtype(labels.dtype, np.signedinteger):
        low, high = int(labels.min()), int(labels.max())
        if high - low < 4 * len(labels):
            place = labels.astype(np.int64) - low
            used = np.bincount(place) > 0
            return (np.cumsum(used) - 1)[place], int(used.sum())
    names, number = np.unique(labels, return_inverse=True)
    return number, len(names)


def _pairs(counts: NDArray[np.int64]) -> float:
    return float((counts * (counts - 1) // 2).sum())
