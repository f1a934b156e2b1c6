"""Any clustering of scikit-learn's shape as one of ours."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from flockwise.clustering.checks import in_order
from flockwise.errors import InputError
from flockwise.types import Labels


def from_estimator(estimator: Any) -> Callable[[Any], Labels]:
    """A function from what the estimator's `fit_predict` takes to flock labels.

    The estimator is copied for each call, so nothing of one round stays for the next. Clients that it
    calls noise (label -1, as DBSCAN does) get a flock of their own each.
    """
    if not callable(getattr(estimator, "fit_predict", None)):
        raise InputError(f"estimator = {type(estimator).__name__}: must have a fit_predict method")

    def cluster(matrix: Any) -> Labels:
        labels = np.array(copy.deepcopy(estimator).fit_predict(matrix))
        if labels.shape != (len(matrix),) or not np.issubdtype(labels.dtype, np.integer):
            raise InputError(
                f"{type(estimator).__name__}.fit_predict gave {labels.dtype} labels of shape "
                f"{labels.shape}: must be {len(matrix)} integers"
            )
        noise = labels < 0
        labels[noise] = labels.max(initial=0) + 1 + np.arange(noise.sum())
        return in_order(labels)

    return cluster
