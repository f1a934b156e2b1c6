"""Deals samples to clients at random, whatever their labels: the ground that several splits stand on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, held_out, hold_out
from flockwise.data.recipes import Deal, Indices, Parts
from flockwise.rng import generator
from flockwise.splits.drawn import draw_for_each
from flockwise.splits.sizes import testing_sizes, training_sizes

__all__ = ["Indices", "Parts", "deal_uniformly", "with_validation"]


def deal_uniformly(
    dataset: Dataset,
    clients: int,
    seed: int,
    sizes: str | Sequence[int],
    samples: int | None,
    validation: float,
    test: int | None,
    shared: bool = False,
) -> Deal:
    """The parts of each client, drawn without regard to labels; every sample is dealt at most once, unless `shared`."""
    if shared:
        return draw_for_each(dataset, clients, seed, sizes, samples, validation, test)
    random = generator(seed, "split/sizes")
    train_counts = training_sizes(clients, dataset.train, sizes, samples, random)
    test_counts = testing_sizes(train_counts, dataset.samples - dataset.train, test)
    held_out(train_counts, validation)  # refused now, not when a client is asked for
    train = generator(seed, "split/train").permutation(dataset.train_indices)
    tested = generator(seed, "split/test").permutation(dataset.test_indices)
    return Cut(train, np.cumsum(train_counts), tested, np.cumsum(test_counts), validation, seed)


@dataclass(frozen=True)
class Cut:
    """Two shuffled decks, cut into a hand for each client: `ends` say where each client's cards end."""

    train: Indices
    train_ends: NDArray[np.int64]
    test: Indices
    test_ends: NDArray[np.int64]
    validation: float
    seed: int

    def __len__(self) -> int:
        return len(self.train_ends)

    def __getitem__(self, client: int) -> Parts:
        """One client's cards, of which some training samples are set aside for validation."""
        train, test = _hand(self.train, self.train_ends, client), _hand(self.test, self.test_ends, client)
        return _held(train, test, self.validation, self.seed, client)

    def sizes(self, part: str) -> NDArray[np.int64]:
        """How many cards each client has."""
        if part == "test":
            return np.diff(self.test_ends, prepend=0)
        counts = np.diff(self.train_ends, prepend=0)
        aside = held_out(counts, self.validation)
        return aside if part == "validation" else counts - aside


def with_validation(trains: list[Indices], tests: list[Indices], validation: float, seed: int) -> list[Parts]:
    """Carve each client's validation part out of its training samples."""
    return [
        _held(train, test, validation, seed, client)
        for client, (train, test) in enumerate(zip(trains, tests, strict=True))
    ]


def _held(train: Indices, test: Indices, validation: float, seed: int, client: int) -> Parts:
    kept, aside = hold_out(train, validation, generator(seed, "split/validation", client))
    return Parts(kept, aside, test)


def _hand(deck: Indices, ends: NDArray[np.int64], client: int) -> Indices:
    return deck[ends[client - 1] if client else 0 : ends[client]]
