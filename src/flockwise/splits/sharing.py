"""Draws clients' samples independently of each other, so that a sample may be with several clients."""

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, hold_out
from flockwise.errors import InputError
from flockwise.rng import generator
from flockwise.splits.by_label import deal_tests
from flockwise.splits.classes import class_labels
from flockwise.splits.sizes import largest_remainder
from flockwise.splits.uniform import Indices, Parts


def draw_shared(
    dataset: Dataset,
    mixes: NDArray[np.float64],
    samples: int,
    seed: int,
    validation: float,
    test: int | None,
) -> list[Parts]:
    """`samples` training samples for each client in its mix, of which a fraction is for validation.

    The training part is first cut into one for training and one for validation, label by label, so that
    nobody trains on what another client validates on. Test samples are dealt without sharing.
    """
    if samples < 1:
        raise InputError(f"samples = {samples}: must be at least 1")
    decks = _decks(dataset, validation, seed)
    held_out = min(round(samples * validation), samples - 1)
    parts: list[tuple[Indices, Indices]] = []
    for client, mix in enumerate(mixes):
        random = generator(seed, "split/shared", client)
        train = _draw([kept for kept, _ in decks], mix, samples - held_out, random)
        parts.append((train, _draw([aside for _, aside in decks], mix, held_out, random)))
    tests = deal_tests(dataset, mixes, np.full(len(mixes), samples), seed, test)
    return [Parts(train, aside, dealt) for (train, aside), dealt in zip(parts, tests, strict=True)]


def _decks(dataset: Dataset, validation: float, seed: int) -> list[tuple[Indices, Indices]]:
    labels = class_labels(dataset)[: dataset.train]
    return [
        hold_out(np.flatnonzero(labels == label), validation, generator(seed, "split/validation", label))
        for label in range(dataset.classes)
    ]


def _draw(decks: list[Indices], mix: NDArray[np.float64], size: int, random: np.random.Generator) -> Indices:
    usable = np.where([len(deck) > 0 for deck in decks], mix, 0.0)
    if size == 0 or not usable.sum():
        return np.empty(0, dtype=np.int64)
    hands = [
        random.choice(deck, size=int(count), replace=bool(count > len(deck)))
        for deck, count in zip(decks, largest_remainder(usable, size), strict=True)
        if count
    ]
    return random.permutation(np.concatenate(hands).astype(np.int64))
