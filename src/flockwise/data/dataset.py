"""A data set: samples, labels, and whose each sample is where that is known."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.data.sequences import IGNORED
from flockwise.errors import InputError

if TYPE_CHECKING:
    from flockwise.data.preparing import Preparation


class Holder(NamedTuple):
    """Whose samples they are: a name, and whatever else is known of him, her or it."""

    name: str
    about: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples in a fixed order, the official training part first, the test part after it."""

    name: str
    x: NDArray[Any]  # (samples, height, width, channels) or (samples, ...); may be a read-only memory map
    y: NDArray[Any]  # (samples,) int64 labels, or one a step: (samples, steps); float32 numbers to predict
    train: int  # the first `train` samples are the official training part
    maximum: float  # dividing by it brings x to [0, 1]
    classes: int  # 0 where y are numbers to predict
    class_names: tuple[str, ...] = ()
    writer: NDArray[np.int64] | None = None  # (samples,) who wrote the sample
    writer_group: NDArray[np.int64] | None = None  # (samples,) population of the writer (NIST series)
    writer_status: NDArray[np.int64] | None = (
        None  # (samples,) FEMNIST: 2 whole, 1 shortened, 0 test part only
    )
    holders: tuple[Holder, ...] = ()  # by writer, where they have names
    columns: tuple[str, ...] = ()  # what the features are, in a table
    tokens: bool = False  # x are numbers of words or signs, for an embedding: they stay whole numbers
    prepare: "Preparation | None" = None  # what is done to the features of a table, once clients are known
    left_out: tuple[str, ...] = ()  # files beside those that it was read from, which were not
    # The name by which `load` gives exactly this. No argument, so that a changed copy does not have it.
    registered: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        count = len(self.x)
        for name in ("y", "writer", "writer_group", "writer_status"):
            values = getattr(self, name)
            shape = np.shape(values)[:1] if name == "y" else np.shape(values)
            if values is not None and shape != (count,):
                raise InputError(
                    f"{name} = array of shape {np.shape(values)}: must be ({count},), one per sample"
                )
        if not 0 <= self.train <= count:
            raise InputError(f"train = {self.train}: must be 0 to {count}, the number of samples")
        if not self.maximum > 0:
            raise InputError(f"maximum = {self.maximum}: must be above 0; 255 for 8-bit images, 1 for floats")
        if count and self.y.dtype.kind != "f":
            self._check_labels()

    def _check_labels(self) -> None:
        known = self.y if self.y.ndim == 1 else self.y[self.y != IGNORED]
        if known.size and (known.min() < 0 or known.max() >= self.classes):
            raise InputError(
                f"y = labels {known.min()} to {known.max()}: must be 0 to {self.classes - 1}; "
                f"set classes to {known.max() + 1} or renumber the labels"
            )

    def registered_as(self, name: str) -> "Dataset":
        """The same data set, known to be the one that `load(name)` gives."""
        known = replace(self)
        object.__setattr__(known, "registered", name)
        return known

    @property
    def kinds(self) -> int:
        """How many classes there are where each sample has one; 0 for numbers, several labels, or one a step."""
        return self.classes if self.y.ndim == 1 else 0

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

    def scaled(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """The chosen samples as float32 (images in [0, 1]), or int64 if they are tokens; in a new array."""
        if self.tokens:
            return np.asarray(self.x[indices]).astype(np.int64)
        values = np.asarray(self.x[indices]).astype(np.float32)
        if self.maximum != 1:
            values /= np.float32(self.maximum)
        return values
