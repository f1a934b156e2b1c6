"""A data set: images, labels, and who wrote what where that is known."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples in a fixed order, the official training part first, the test part after it."""

    name: str
    x: NDArray[Any]  # (samples, height, width, channels) uint8 or float32; may be a read-only memory map
    y: NDArray[np.int64]  # (samples,)
    train: int  # the first `train` samples are the official training part
    maximum: float  # dividing by it brings x to [0, 1]
    classes: int
    class_names: tuple[str, ...] = ()
    writer: NDArray[np.int64] | None = None  # (samples,) who wrote the sample
    writer_group: NDArray[np.int64] | None = None  # (samples,) population of the writer (NIST series)
    writer_status: NDArray[np.int64] | None = (
        None  # (samples,) FEMNIST: 2 whole, 1 shortened, 0 test part only
    )
    # The name by which `load` gives exactly this. No argument, so that a changed copy does not have it.
    registered: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        count = len(self.x)
        for name in ("y", "writer", "writer_group", "writer_status"):
            values = getattr(self, name)
            if values is not None and np.shape(values) != (count,):
                raise InputError(
                    f"{name} = array of shape {np.shape(values)}: must be ({count},), one per sample"
                )
        if not 0 <= self.train <= count:
            raise InputError(f"train = {self.train}: must be 0 to {count}, the number of samples")
        if not self.maximum > 0:
            raise InputError(f"maximum = {self.maximum}: must be above 0; 255 for 8-bit images, 1 for floats")
        if count and (self.y.min() < 0 or self.y.max() >= self.classes):
            raise InputError(
                f"y = labels {self.y.min()} to {self.y.max()}: must be 0 to {self.classes - 1}; "
                f"set classes to {self.y.max() + 1} or renumber the labels"
            )

    def registered_as(self, name: str) -> "Dataset":
        """The same data set, known to be the one that `load(name)` gives."""
        known = replace(self)
        object.__setattr__(known, "registered", name)
        return known

    @property
    def samples(self) -> int:
        """How many samples there are, both parts together."""
        return len(self.x)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return tuple(self.x.shape[1:])

    @property
    def train_indices(self) -> NDArray[np.int64]:
        """Indices of the official training part."""
        return np.arange(self.train, dtype=np.int64)

    @property
    def test_indices(self) -> NDArray[np.int64]:
        """Indices of the official test part."""
        return np.arange(self.train, self.samples, dtype=np.int64)

    def scaled(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The chosen samples as float32 in [0, 1], in a new array."""
        values = np.asarray(self.x[indices]).astype(np.float32)
        if self.maximum != 1:
            values /= np.float32(self.maximum)
        return values
