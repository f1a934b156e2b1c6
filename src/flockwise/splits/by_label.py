"""Deals samples by label: each client gets a given mix, in training and in test alike."""

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset
from flockwise.errors import InputError
from flockwise.splits.apportion import apportion
from flockwise.splits.classes import class_labels
from flockwise.splits.dealing import deal_part
from flockwise.splits.sizes import testing_sizes
from flockwise.splits.uniform import Indices, Parts, with_validation

LACKING = 0.05  # share of test samples that may be of another label than the mix asks for


def label_pools(dataset: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many samples of each label the training part and the test part hold."""
    labels, cut = class_labels(dataset), dataset.train
    return (
        np.bincount(labels[:cut], minlength=dataset.classes),
        np.bincount(labels[cut:], minlength=dataset.classes),
    )


def deal_counts(
    dataset: Dataset, counts: NDArray[np.int64], seed: int, validation: float, test: int | None
) -> list[Parts]:
    """Deal `counts[client, label]` training samples, and test samples in the same mix (`deal_tests`)."""
    if (counts.sum(axis=1) == 0).any():
        raise InputError(
            f"clients = {len(counts)}: too many for this mix of labels, some would get no sample; "
            "use fewer clients or a milder mix"
        )
    sizes = counts.sum(axis=1)
    trains = deal_part(dataset, "train", counts, seed)
    tests = deal_tests(dataset, counts / sizes[:, np.newaxis], sizes, seed, test)
    return with_validation(trains, tests, validation, seed)


def deal_tests(
    dataset: Dataset,
    mixes: NDArray[np.float64],
    sizes: NDArray[np.int64],
    seed: int,
    test: int | None,
) -> list[Indices]:
    """Test samples in the given mixes: `test` each, or as many as there are in proportion to `sizes`.

    Where the test part runs out of a label, its holders get proportionally less of it and more of their
    other labels. With `test` None all clients get fewer before that concerns more than 5 % of the samples;
    with `test` given only those whose labels are all used up get fewer.
    """
    pool = label_pools(dataset)[1]
    wanted = testing_sizes(sizes, int(pool.sum()), test)
    if test is None:
        wanted = _servable(mixes, wanted, pool)
    return deal_part(dataset, "test", apportion(mixes, wanted, pool), seed)


def fit_sizes(
    mixes: NDArray[np.float64], sizes: NDArray[np.int64], pool: NDArray[np.int64], fixed: bool
) -> NDArray[np.int64]:
    """Sizes for which every client can have exactly its mix, up to rounding.

    Sizes that the user `fixed` are kept or refused; others shrink together until the scarcest label
    suffices.
    """
    demand = (mixes * sizes[:, np.newaxis]).sum(axis=0)
    scale = float(np.min(pool[demand > 0] / demand[demand > 0], initial=1.0))
    if scale >= 1.0 - 1e-12:
        return sizes
    label = int(np.argmin(np.where(demand > 0, pool / np.maximum(demand, 1e-300), np.inf)))
    if fixed:
        raise InputError(
            f"samples = {round(sizes.mean())} on average: must be at most {int(sizes.mean() * scale)}, "
            f"because label {label} has {pool[label]} training samples and {demand[label]:.0f} are asked for"
        )
    shrunk: NDArray[np.int64] = np.maximum(np.floor(sizes * scale + 1e-9), 1).astype(np.int64)
    return shrunk


def _servable(
    mixes: NDArray[np.float64], sizes: NDArray[np.int64], pool: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The largest common scale of `sizes` at which the pools lack at most 5 % of what the mixes ask for."""
    demand = (mixes * sizes[:, np.newaxis]).sum(axis=0)

    def lacking(scale: float) -> float:
        return float(np.maximum(scale * demand - pool, 0).sum() / (scale * demand.sum()))

    if lacking(1.0) <= LACKING:
        return sizes
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) <= LACKING else (low, middle)
    scaled: NDArray[np.int64] = np.maximum(np.floor(sizes * low), 1).astype(np.int64)
    return scaled
