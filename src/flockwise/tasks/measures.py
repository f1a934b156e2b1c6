"""Metrics: functions of predictions and targets, one number each; NaN where samples do not define it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def accuracy(predicted: Array, targets: Array) -> float:
    """Share of the targets that are predicted exactly; ignored steps (-100) do not count."""
    known = targets != -100
    return float((predicted == targets)[known].mean()) if known.any() else float("nan")


def mean_absolute_error(predicted: Array, targets: Array) -> float:
    """How far predictions are off, on average."""
    return float(np.abs(_differences(predicted, targets)).mean())


def root_mean_squared_error(predicted: Array, targets: Array) -> float:
    """The same with large errors counting for more."""
    return float(np.sqrt(np.square(_differences(predicted, targets)).mean()))


def r_squared(predicted: Array, targets: Array) -> float:
    """Share of the targets' variance that is explained; NaN if they do not vary. The mean of several targets'."""
    errors = np.square(_differences(predicted, targets)).reshape(len(targets), -1).sum(axis=0)
    values = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
    spread = np.square(values - values.mean(axis=0)).sum(axis=0)
    return float((1 - errors / spread).mean()) if (spread > 0).all() else float("nan")


def f1(predicted: Array, targets: Array) -> float:
    """Of probabilities above one half: the mean over labels of 2 TP / (2 TP + FP + FN).

    Labels that neither occur nor are predicted are left out; where there are none at all, nothing was missed: 1.
    """
    said = np.asarray(predicted).reshape(len(targets), -1) > 0.5
    true = np.asarray(targets).reshape(len(targets), -1) > 0.5
    hits, errors = (said & true).sum(axis=0), (said != true).sum(axis=0)
    seen = hits + errors > 0
    return float((2 * hits[seen] / (2 * hits[seen] + errors[seen])).mean()) if seen.any() else 1.0


def macro_f1(predicted: Array, targets: Array) -> float:
    """Of classes: the mean over those that occur or are predicted; ignored steps (-100) do not count."""
    known = targets != -100
    said, true = np.asarray(predicted)[known], np.asarray(targets)[known]
    values = []
    for label in np.union1d(said, true):
        hits = np.sum((said == label) & (true == label))
        values.append(2 * hits / (np.sum(said == label) + np.sum(true == label)))
    return float(np.mean(values)) if values else float("nan")


def auc(predicted: Array, targets: Array) -> float:
    """Area under the ROC curve: the chance that a positive sample is ranked above a negative one.

    The mean over labels that have both kinds; NaN if none has.
    """
    scores = np.asarray(predicted, dtype=np.float64).reshape(len(targets), -1)
    true = np.asarray(targets).reshape(len(targets), -1) > 0.5
    found = [_area(scores[:, label], true[:, label]) for label in range(true.shape[1])]
    known = [area for area in found if area == area]
    return float(np.mean(known)) if known else float("nan")


def perplexity(loss: float) -> float:
    """The number of equally likely tokens among which the model is as unsure: exp of the mean loss."""
    return float(np.exp(min(loss, 69.0)))


def _area(scores: Array, true: Array) -> float:
    positive, negative = int(true.sum()), int((~true).sum())
    if not positive or not negative:
        return float("nan")
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    rank = (last - (count - 1) / 2)[place]  # those that are equal share the mean of their ranks
    return float((rank[true].sum() - positive * (positive + 1) / 2) / (positive * negative))


def _differences(predicted: Array, targets: Array) -> NDArray[np.float64]:
    one, other = (np.asarray(values, dtype=np.float64) for values in (predicted, targets))
    return one.reshape(len(other), -1) - other.reshape(len(other), -1)
