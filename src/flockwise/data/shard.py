"""What one client holds of a data set, and how it sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.data.view import AS_IT_IS, View


@dataclass(frozen=True, eq=False)
class Shard:
    """What one client holds. Index arrays point into the data set; the parts are disjoint."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    relabel: tuple[int, ...] | None = None  # true label -> label this client uses
    turns: int = 0  # quarter turns of the images, counter-clockwise as in np.rot90
    group: int | None = None  # ground truth, for judging only: no strategy may read it
    address: str | None = None  # IPv4
    hour: float | None = None  # time of day at which its reports come, 0 to 24
    user: int | None = None
    name: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)  # what else is known of the client, to be shown
    view: View = AS_IT_IS  # how it sees features: noise, brightness, contrast
