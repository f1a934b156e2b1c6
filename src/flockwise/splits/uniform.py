"""Deals samples to clients at random, whatever their labels: the ground that several splits stand on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, hold_out
from flockwise.rng import generator
from flockwise.splits.sizes import testing_sizes, training_sizes

Indices = NDArray[np.int64]


class Parts(NamedTuple):
    """One client's samples, as indices into the data set."""

    train: Indices
    validation: Indices
    test: Indices


def deal_uniformly(
    dataset: Dataset,
    clients: int,
    seed: int,
    sizes: str | Sequence[int],
    samples: int | None,
    validation: float,
    test: int | None,
) -> list[Parts]:
    """The parts of each client, drawn without regard to labels; every sample is dealt at most once."""
    random = generator(seed, "split/sizes")
    train_counts = training_sizes(clients, dataset.train, sizes, samples, random)
    test_counts = testing_sizes(train_counts, dataset.samples - dataset.train, test)
    trains = _cut(generator(seed, "split/train").permutation(dataset.train_indices), train_counts)
    tests = _cut(generator(seed, "split/test").permutation(dataset.test_indices), test_counts)
    return with_validation(trains, tests, validation, seed)


def with_validation(trains: list[Indices], tests: list[Indices], validation: float, seed: int) -> list[Parts]:
    """Carve each client's validation part out of its training samples."""
    parts = []
    for client, (train, test) in enumerate(zip(trains, tests, strict=True)):
        kept, held_out = hold_out(train, validation, generator(seed, "split/validation", client))
        parts.append(Parts(kept, held_out, test))
    return parts


def _cut(indices: Indices, counts: NDArray[np.int64]) -> list[Indices]:
    ends = np.cumsum(counts)
    return [indices[end - count : end] for end, count in zip(ends, counts, strict=True)]
