"""Who of a run's clients is who among those that a continuation has."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from flockwise.errors import InputError, RunError
from flockwise.store import Run
from flockwise.types import Clients

Match = Literal["name", "number", "nobody"]


def matched(parent: Run, names: Sequence[str], by: Match, known: int) -> Clients:
    """The number that each client had in the run before, or -1 if it is new; `known` is how many there were.

    By name; by number, where clients have none; or nobody, where all are new to the flocks that were found.
    """
    if by not in ("name", "number", "nobody"):
        raise InputError(f"match = {by!r}: must be name, number or nobody")
    numbers = np.arange(len(names), dtype=np.int64)
    if by == "nobody":
        return np.full(len(names), -1, dtype=np.int64)
    if by == "number":
        return np.where(numbers < known, numbers, -1)
    before = {
        str(row["name"]): int(row["client"]) for row in parent.clients if 0 <= int(row["client"]) < known
    }
    twice = (
        sorted({name for name in names if list(names).count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if twice or len(before) < len(parent.clients):
        which = (
            f"{twice[0]!r} is the name of several clients" if twice else "several clients of it have one name"
        )
        raise RunError(f"{parent.path}: {which}; give each its own, or match them by number")
    found = np.array([before.get(name, -1) for name in names], dtype=np.int64)
    if not (found >= 0).any():
        raise RunError(
            f"{parent.path}: none of its clients is here: it has {_some(before)}, and here are {_some(names)}; match "
            "them by number, or say match = 'nobody' if all of them are new"
        )
    return found


def _some(names: "Sequence[str] | dict[str, int]", most: int = 3) -> str:
    told = ", ".join(repr(name[:40]) for name in list(names)[:most])
    return told + (", ..." if len(names) > most else "")
