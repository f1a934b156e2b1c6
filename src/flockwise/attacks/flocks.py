"""How attackers that see everybody's updates make out flocks, as a server would."""

import numpy as np
from numpy.typing import NDArray

from flockwise.attacks.contract import View
from flockwise.attacks.knowledge import center, others_updates, own_updates, products
from flockwise.errors import InputError
from flockwise.types import Updates

KNOWS = frozenset({"own", "all", "groups"})


def flocks_found(view: View, attack: str) -> bool:
    """Whether the server has looked for flocks; attackers that mean to act on it must know."""
    if view.found is None or view.groups is None:
        raise InputError(f"groups = None: {attack} needs the server's flocks")
    return view.found


def smaller_side(updates: Updates) -> NDArray[np.bool_]:
    """The fewer of the two kinds of clients that differ most, by the direction in which updates differ most.

    Updates are told apart by where they point. Along the first principal direction they are cut at the widest gap; of
    halves of equal size the one that holds the first client is taken.
    """
    if len(updates) < 2:
        return np.ones(len(updates), dtype=np.bool_)
    lengths = np.linalg.norm(updates.astype(np.float64), axis=1, keepdims=True)
    units = (updates / np.maximum(lengths, 1e-300)).astype(np.float32)
    mean = center(units)
    gram, _ = products(units, mean, mean)
    along = np.linalg.eigh(gram)[1][:, -1]
    ordered = np.sort(along)
    cut = int(np.diff(ordered).argmax())
    low = along <= ordered[cut]
    few, many = low.sum(), (~low).sum()
    smaller: NDArray[np.bool_] = low if few < many or (few == many and low[0]) else ~low
    return smaller


def flock_of(view: View, attacker: int, attack: str) -> Updates:
    """The honest updates of the attacker's flock on the server; of everyone, where nobody honest shares it."""
    others = others_updates(view, attack)
    assert view.groups is not None
    attackers = len(own_updates(view))
    mates = others[view.groups[attackers:] == view.groups[attacker]]
    return mates if len(mates) else others


def against(view: View, attack: str, scale: float) -> Updates:
    """From each attacker the mean of its flock, turned round and scaled."""
    rows = [-scale * center(flock_of(view, number, attack)) for number in range(len(own_updates(view)))]
    return np.stack(rows).astype(np.float32)


def near(row: np.ndarray, view: View, rng: np.random.Generator, noise: float) -> Updates:
    """A copy of the row from each attacker, with a little noise, so that copies are not told by their equality."""
    shape = own_updates(view).shape
    drawn = rng.standard_normal(shape)
    drawn *= noise * np.linalg.norm(row) / np.sqrt(shape[1])
    return (row + drawn).astype(np.float32)
