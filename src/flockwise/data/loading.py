"""Opens a data set by name."""

from pathlib import Path

from flockwise.data.dataset import Dataset
from flockwise.data.digits import load_digits
from flockwise.errors import DataError


def load(name: str, directory: str | Path | None = None, cache: str | Path | None = None) -> Dataset:
    """The data set of this name."""
    if name == "digits":
        return load_digits()
    raise DataError(f"data set {name!r}: not here")
