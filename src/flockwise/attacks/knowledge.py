"""Which updates an attacker may compute with, and statistics of them."""

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np

from flockwise.attacks.contract import View
from flockwise.errors import InputError
from flockwise.types import Updates

Knowledge = Literal["own", "all", "groups"]

_NEEDS: dict[str, frozenset[str]] = {
    "own": frozenset({"own"}),
    "all": frozenset({"own", "all"}),
    "groups": frozenset({"own", "all", "groups"}),
}


def needs(knowledge: str) -> frozenset[str]:
    """What an attack with this knowledge must be given."""
    if knowledge not in _NEEDS:
        raise InputError(f"knowledge = {knowledge!r}: must be one of {', '.join(get_args(Knowledge))}")
    return _NEEDS[knowledge]


def own_updates(view: View) -> Updates:
    """The attackers' own honest updates, checked."""
    own = np.asarray(view.own)
    if own.ndim != 2 or own.shape[0] == 0 or own.shape[1] == 0:
        raise InputError(f"own has shape {own.shape}: must be (attackers, parameters), both at least 1")
    return own


def others_updates(view: View, attack: str) -> Updates:
    """The honest clients' updates, or an InputError if the attack was not given them."""
    if view.others is None:
        raise InputError(f"others = None: {attack} needs the honest clients' updates of this round")
    others = np.asarray(view.others)
    if others.ndim != 2 or len(others) == 0 or others.shape[1] != own_updates(view).shape[1]:
        raise InputError(
            f"others has shape {others.shape}: must be (clients, {view.own.shape[1]}), at least one"
        )
    return others


def visible(view: View, knowledge: str, attack: str) -> Iterator[tuple[np.ndarray, Updates]]:
    """Attackers that see the same, as row numbers, and all honest updates they see, their own first."""
    own = own_updates(view)
    if knowledge == "own":
        yield np.arange(len(own)), own
        return
    everyone = np.concatenate([own, others_updates(view, attack)])
    if knowledge == "all":
        yield np.arange(len(own)), everyone
        return
    if view.groups is None:
        raise InputError(f"groups = None: {attack} needs the server's flocks")
    groups = np.asarray(view.groups)
    if groups.shape != (len(everyone),):
        raise InputError(
            f"groups has shape {groups.shape}: must be ({len(everyone)},), own rows, then others'"
        )
    for group in np.unique(groups[: len(own)]):
        yield np.flatnonzero(groups[: len(own)] == group), everyone[groups == group]


def center(updates: Updates) -> np.ndarray:
    """Mean of each coordinate in float64."""
    mean: np.ndarray = updates.mean(axis=0, dtype=np.float64)
    return mean


def spread(updates: Updates) -> np.ndarray:
    """Standard deviation of each coordinate (dividing by the number of rows) in float64."""
    deviation = np.empty(updates.shape[1])
    for part in _blocks(updates):
        deviation[part] = updates[:, part].std(axis=0, dtype=np.float64)
    return deviation


def products(updates: Updates, shift: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scalar products of the updates minus `shift`: with each other, and with `direction`, in float64."""
    gram, along = np.zeros((len(updates), len(updates))), np.zeros(len(updates))
    for part in _blocks(updates):
        rows = updates[:, part].astype(np.float64) - shift[part]
        gram += rows @ rows.T
        along += rows @ direction[part]
    return gram, along


def squared_distances(gram: np.ndarray) -> np.ndarray:
    """Squared distances between rows from their scalar products."""
    square = np.diagonal(gram)
    distances: np.ndarray = np.maximum(square[:, None] + square - 2 * gram, 0.0)
    return distances


def turned_towards(row: np.ndarray, course: np.ndarray, closeness: float) -> np.ndarray:
    """The row's direction, turned in the plane of both towards the course if their cosine is below `closeness`."""
    length, along = float(np.linalg.norm(row)), float(np.linalg.norm(course))
    if length == 0 or along == 0:
        return row / length if length else row
    unit, ahead = row / length, course / along
    cosine = float(unit @ ahead)
    aside = unit - cosine * ahead
    width = float(np.linalg.norm(aside))
    if cosine >= closeness:
        return unit
    if width == 0:
        return ahead  # straight against: there is no plane to turn in
    turned: np.ndarray = closeness * ahead + np.sqrt(1 - closeness**2) * aside / width
    return turned


def repeated(row: np.ndarray, count: int) -> Updates:
    """The same update from `count` attackers."""
    return np.tile(row.astype(np.float32), (count, 1))


def _blocks(updates: Updates) -> Iterator[slice]:
    width = max(1, 2**22 // len(updates))  # 32 MB of float64 at a time
    for start in range(0, updates.shape[1], width):
        yield slice(start, start + width)
