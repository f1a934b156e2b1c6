"""Labels by the numbers that a run knows them by: a month in which nobody has the rare class is no other task."""

from dataclasses import replace

import numpy as np

from flockwise.data import Federation
from flockwise.data.sequences import IGNORED
from flockwise.runs.sample_shape import Samples


def in_known_numbers(federation: Federation, known: Samples | None) -> Federation:
    """The same clients with their labels numbered as in `known`, if it has all of them; else as they are."""
    data = federation.dataset
    if known is None or data.y.dtype.kind == "f" or list(data.class_names) == known.class_names:
        return federation
    if not set(data.class_names) <= set(known.class_names):
        return federation  # the models know no such label: refused where samples are compared
    number = {name: place for place, name in enumerate(known.class_names)}
    places = np.array([number[name] for name in data.class_names], dtype=np.int64)
    y = np.asarray(data.y, dtype=np.int64).copy()
    y[y != IGNORED] = places[y[y != IGNORED]]
    return replace(
        federation, dataset=replace(data, y=y, classes=known.classes, class_names=tuple(known.class_names))
    )
