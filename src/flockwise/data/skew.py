"""How far a client's data is from everybody's, as single numbers."""

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.data.federation import Federation

MOST_SAMPLES = 2000  # of a client, to measure its features by


class Skew(NamedTuple):
    """One number for each client; NaN where it cannot be measured."""

    label_entropy: NDArray[np.float64]  # 0: one class alone, 1: all classes alike
    label_distance: NDArray[np.float64]  # 0: everybody's mix of labels, towards 1: labels nobody else has
    feature_shift: NDArray[
        np.float64
    ]  # distance of the features' means from everybody's, in standard deviations


def skew_of(federation: Federation) -> Skew:
    """The skew of each client's training data, against all clients' together.

    The distance of labels is the total variation, which is the earth mover's distance between labels without an order;
    for numbers to predict, it is that of their means in standard deviations. The shift of features is the mean over
    features of the distance between the client's mean and everybody's, in everybody's standard deviations; for tokens,
    the total variation between how often each occurs.
    """
    entropy, distance = _labels(federation)
    return Skew(entropy, distance, _features(federation))


def _labels(federation: Federation) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if not federation.dataset.classes:
        held = [federation.arrays(client, "train")[1] for client in range(federation.clients)]
        return np.full(federation.clients, np.nan), _shift([y.reshape(len(y), -1) for y in held])
    counts = federation.label_counts().astype(np.float64)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    whole = counts.sum(axis=0) / max(counts.sum(), 1)
    logs = np.log(np.where(shares > 0, shares, 1.0))
    entropy = -(shares * logs).sum(axis=1) / np.log(max(federation.dataset.classes, 2))
    return np.abs(entropy), np.abs(shares - whole).sum(axis=1) / 2


def _features(federation: Federation) -> NDArray[np.float64]:
    held = [_some(federation, client) for client in range(federation.clients)]
    if not federation.dataset.tokens:
        return _shift(held)
    kinds = max(int(x.max(initial=0)) for x in held) + 1
    counts = np.array([np.bincount(x.ravel(), minlength=kinds) for x in held], dtype=np.float64)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    distance: NDArray[np.float64] = np.abs(shares - counts.sum(axis=0) / max(counts.sum(), 1)).sum(axis=1) / 2
    return distance


def _some(federation: Federation, client: int) -> NDArray[np.float32]:
    """Evenly spaced samples of a client, flat."""
    size = len(federation.indices(client, "train"))
    x, _ = federation.arrays(client, "train")
    places = np.unique(np.linspace(0, max(size - 1, 0), min(size, MOST_SAMPLES)).astype(int))
    return np.asarray(x[places].reshape(len(places), -1))


def _shift(held: list[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Distance of each client's means from those of all, in standard deviations of all; clients count alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NaN is the answer where nothing can be measured
        means = np.array(
            [x.mean(axis=0, dtype=np.float64) if len(x) else np.nan * x.sum(axis=0) for x in held]
        )
        squares = np.array(
            [(x.astype(np.float64) ** 2).mean(axis=0) if len(x) else np.nan * x.sum(axis=0) for x in held]
        )
        whole = np.nanmean(means, axis=0)
        spread = np.sqrt(np.maximum(np.nanmean(squares, axis=0) - whole**2, 0))
        varies = spread > 1e-9
        if not varies.any():
            return np.zeros(len(held))
        shift: NDArray[np.float64] = (np.abs(means - whole)[:, varies] / spread[varies]).mean(axis=1)
    return shift
