"""What every clustering checks about its input, and what is checked of the labels it returns."""

from typing import Any

import numpy as np

from flockwise.errors import InputError, PluginError
from flockwise.types import Labels, Square


def in_order(labels: Any) -> Labels:
    """The same partition with labels 0, 1, ... in order of each flock's first client."""
    _, first, inverse = np.unique(np.asarray(labels), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    ordered: Labels = rank[inverse.reshape(-1)]
    return ordered


def checked_labels(labels: Any, clients: int, name: str = "the clustering") -> Labels:
    """The labels that a clustering returned as flocks 0, 1, ..., or a PluginError that says what is wrong.

    Clients with a label below 0 (noise, for scikit-learn) get a flock of their own each.
    """
    try:
        found = np.asarray(labels)
    except ValueError:  # rows of different lengths
        found = np.asarray(None)
    if found.shape != (clients,) or found.dtype.kind not in "iu":
        told = f"{found.dtype} of shape {found.shape}"
        if found.dtype == object:
            told = "None" if labels is None else f"a {type(labels).__name__} of other things than numbers"
        elif found.dtype.kind == "f" and not np.isfinite(found).all():
            told += " with NaN or infinity"
        raise PluginError(f"{name} returned {told}: must be {clients} integers, the flock of each client")
    flocks = found.astype(np.int64)
    noise = flocks < 0
    flocks[~noise] = in_order(flocks[~noise])  # first, so that numbers from `clients` on are free
    flocks[noise] = clients + np.arange(noise.sum())
    return in_order(flocks)


def square(matrix: Any, name: str) -> Square:
    """A finite symmetric float64 matrix, or an InputError."""
    array = np.asarray(matrix, dtype=np.float64)
    check_square(array.shape, name)
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity: leave out the clients that were not compared")
    scale = float(np.abs(array).max())
    if float(np.abs(array - array.T).max()) > 1e-6 * max(scale, 1e-300):
        raise InputError(f"{name} is not symmetric: use ({name} + {name}.T) / 2")
    return array


def check_square(shape: tuple[int, ...], name: str) -> None:
    """Refuse anything but a matrix with one row and one column for each client."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{name} has shape {shape}: must be square, one row and one column for each client")
    if shape[0] == 0:
        raise InputError(f"{name} is empty: at least one client is needed")


def check_points(matrix: Any, name: str) -> np.ndarray:
    """A finite float64 matrix with one row for each client, or an InputError; a vector is one column."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"{name} has shape {array.shape}: must be (clients, features), both at least 1")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity: leave out the clients with unusable rows")
    return array
