"""Keeping flock numbers steady when flocks are found anew, and starting their models."""

import numpy as np

from flockwise.stages.grouping import Found
from flockwise.stages.state import UNPLACED, State, largest_flock
from flockwise.types import Labels, Models


def renumbered(state: State, found: Found) -> Labels:
    """Labels of all clients after flocks were found among some of them.

    A new flock takes the number of the old flock most of its members come from; each number is used
    once, new numbers are the lowest free ones. Clients not compared are UNPLACED.
    """
    labels = np.full(state.clients, UNPLACED, dtype=np.int64)
    old = state.labels[found.clients]
    fresh = np.arange(found.flocks)
    overlap = np.array(
        [[np.sum((found.labels == f) & (old == o)) for o in range(len(state.models))] for f in fresh]
    )
    number: dict[int, int] = {}
    for flat in np.argsort(-overlap, axis=None, kind="stable"):
        new, previous = divmod(int(flat), len(state.models))
        if overlap[new, previous] and new not in number and previous not in number.values():
            number[new] = previous
    spare = (n for n in range(len(fresh) + len(state.models)) if n not in set(number.values()))
    for flock in fresh:
        if int(flock) not in number:
            number[int(flock)] = next(spare)
    labels[found.clients] = [number[int(label)] for label in found.labels]
    return labels


def split_inside(state: State, flock: int, found: Found, keep_stragglers: bool) -> Labels:
    """Labels after one flock was split: its largest part keeps the number.

    Members that were not compared are UNPLACED, or stay with the largest part.
    """
    labels = state.labels.copy()
    sizes = np.bincount(found.labels)
    stays = int(sizes.argmax())
    absent = np.setdiff1d(np.flatnonzero(labels == flock), found.clients)
    used = set(labels[labels != UNPLACED].tolist())
    spare = (n for n in range(state.clients + len(used) + 1) if n not in used)
    for part in range(len(sizes)):
        if part != stays:
            labels[found.clients[found.labels == part]] = next(spare)
    if not keep_stragglers:
        labels[absent] = UNPLACED
    return labels


def inherited(state: State, after: Labels) -> Models:
    """Models of new flocks: each starts from the mean of its members' former models.

    Where all members come from one flock, that is a bit-exact copy of its model. Members without a flock were
    sent the largest one's model: a flock of nobody else starts from that.
    """
    models, before = state.models, state.labels
    flocks = max(int(after.max(initial=0)) + 1, len(models))
    fresh = np.concatenate([models, np.zeros((flocks - len(models), models.shape[1]), models.dtype)])
    for flock in np.unique(after[after != UNPLACED]):
        origins = before[(after == flock) & (before != UNPLACED)]
        parents, counts = np.unique(origins, return_counts=True)
        if len(parents) == 1:
            fresh[flock] = models[parents[0]]
        elif len(parents) > 1:
            fresh[flock] = np.average(models[parents].astype(np.float64), axis=0, weights=counts)
        else:
            fresh[flock] = models[largest_flock(state)]
    return fresh
