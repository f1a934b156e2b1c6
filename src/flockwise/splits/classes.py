"""The classes that a split deals by, where a data set has one for each sample."""

from typing import Any

from numpy.typing import NDArray

from flockwise.data import Dataset
from flockwise.errors import InputError


def class_labels(dataset: Dataset) -> NDArray[Any]:
    """The class of each sample; InputError where labels are numbers to predict, or one a step."""
    if dataset.y.ndim == 1 and dataset.y.dtype.kind != "f":
        return dataset.y
    held = "numbers to predict" if dataset.y.dtype.kind == "f" else "several labels a sample"
    raise InputError(
        f"name: deals by class, but {dataset.name} has {held}; use iid, or bring each client's data"
    )
