"""Anything that can cluster, ready for use: a function from a matrix to flocks that are checked."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from flockwise.clustering.checks import checked_labels
from flockwise.clustering.contract import ClustererPiece, Takes
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.plugins import running
from flockwise.registry import NO_OPTIONS
from flockwise.types import Labels


class Clustering(NamedTuple):
    """A function that finds flocks, and what it must be given for it."""

    cluster: Callable[[Any], Labels]
    takes: Takes
    by_tree: Callable[[Any], Labels] | None = None  # the same from a spanning tree, if that is enough


def as_clustering(
    chosen: Any, options: Mapping[str, Any] = NO_OPTIONS, *, seed: int | None = None, prefix: str = ""
) -> Clustering:
    """Of a piece by name, an estimator of scikit-learn's shape, its class, or a function of similarities.

    `seed` is for a piece with a seed that `options` do not set; `prefix` stands before options in messages.
    """
    if isinstance(chosen, ClustererPiece):
        seeded = {"seed": seed} if seed is not None and "seed" in chosen.defaults else {}
        return _of_estimator(chosen.function(**chosen.resolved({**seeded, **options}, prefix)))
    if isinstance(chosen, type):
        try:
            return _of_estimator(chosen(**options))
        except TypeError as error:
            raise ConfigError(f"{prefix.rstrip('.') or chosen.__name__}: {error}") from error
    if options and not _is_function(chosen):
        raise ConfigError(f"{prefix}{next(iter(options))}: {chosen!r} has its options already; leave it out")
    return _of_function(partial(chosen, **options)) if _is_function(chosen) else _of_estimator(chosen)


def from_estimator(estimator: Any) -> Callable[[Any], Labels]:
    """A function from what the estimator's `fit_predict` takes to flock labels.

    The estimator is copied for each call, so nothing of one round stays for the next. Clients that it
    calls noise (label -1, as DBSCAN does) get a flock of their own each.
    """
    if not callable(getattr(estimator, "fit_predict", None)):
        raise InputError(f"estimator = {type(estimator).__name__}: must have a fit_predict method")

    def cluster(matrix: Any) -> Labels:
        with running(type(estimator).__name__):
            found = copy.deepcopy(estimator).fit_predict(matrix)
        return checked_labels(found, _clients(matrix), type(estimator).__name__)

    return cluster


def _is_function(chosen: Any) -> bool:
    if not callable(chosen) and not hasattr(chosen, "fit_predict"):
        raise PluginError(f"clustering = {chosen!r}: must be a function, or have a fit_predict method")
    return not hasattr(chosen, "fit_predict")


def _of_function(function: "partial[Any]") -> Clustering:
    name = getattr(function.func, "__name__", type(function.func).__name__)

    def cluster(matrix: Any) -> Labels:
        with running(name):
            found = function(matrix)
        return checked_labels(found, _clients(matrix), name)

    return Clustering(cluster, getattr(function.func, "takes", "similarity"))


def _clients(matrix: Any) -> int:
    """Rows of an array or of a sparse matrix, which NumPy knows no shape of."""
    return int((matrix.shape if hasattr(matrix, "shape") else np.shape(matrix))[0])


def _of_estimator(estimator: Any) -> Clustering:
    takes: Takes = "points"
    if getattr(estimator, "metric", None) == "precomputed":
        takes = "distance"
    elif getattr(estimator, "affinity", None) == "precomputed":
        takes = "similarity"
    tree = getattr(estimator, "by_tree", None)
    return Clustering(from_estimator(estimator), getattr(estimator, "takes", takes), tree)
