"""The shape of a run's samples, kept so that its model can be made without the data."""

from typing import Any

import numpy as np

from flockwise.data import Dataset, Federation, Shard
from flockwise.store import Run

_SAMPLES = "samples"  # in environment.json


def samples_told(federation: Federation) -> dict[str, Any]:
    """For the record of a new run: what a model must take and tell apart, so that it can be made without the data."""
    data = federation.dataset
    return {_SAMPLES: {"shape": list(data.x.shape[1:]), "classes": int(data.classes)}}


def empty_federation(found: Run) -> Federation | None:
    """Nobody's data of the run's kind, to make its model for; None where the run does not say."""
    told = found.environment.get(_SAMPLES)
    if not isinstance(told, dict):
        return None
    shape, classes = told.get("shape"), told.get("classes")
    sizes = (
        [size for size in shape if type(size) is int and 0 < size < 1 << 24]
        if isinstance(shape, list)
        else []
    )
    if not sizes or sizes != shape or type(classes) is not int or not 0 < classes < 1 << 24:
        return None
    nothing = np.zeros(0, dtype=np.int64)
    data = Dataset("on record", np.zeros((0, *sizes), np.float32), nothing, 0, 1.0, classes)
    return Federation(data, (Shard(nothing, nothing, nothing),))
