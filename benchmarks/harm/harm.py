"""Whom a defence has set apart although nobody attacks: numbers of a finished run, for the study of harm."""

import numpy as np

from flockwise.studies.finished import Finished
from flockwise.studies.readers import groups


def set_apart(finished: Finished) -> float:
    """Share of all clients."""
    return float(_apart(finished).mean())


def of_the_rarest(finished: Finished) -> float:
    """Share of the clients of the kind with the fewest; NaN where kinds are not known."""
    kinds = groups(finished)
    if any(kind is None for kind in kinds):
        return float("nan")
    known, counts = np.unique(kinds.astype(np.int64), return_counts=True)
    return float(_apart(finished)[kinds == known[counts.argmin()]].mean())


def _apart(finished: Finished) -> np.ndarray:
    apart = finished.run.array_at("apart", finished.last)
    assert apart is not None
    return np.asarray(apart != 0)
