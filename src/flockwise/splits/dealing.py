"""Deals the samples of one part by label counts; every sample at most once."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset
from flockwise.rng import generator
from flockwise.splits.classes import class_labels
from flockwise.splits.uniform import Indices


def deal_part(
    dataset: Dataset, part: Literal["train", "test"], counts: NDArray[np.int64], seed: int
) -> list[Indices]:
    """`counts[client, label]` samples of the official training or test part for each client, shuffled."""
    start, end = (0, dataset.train) if part == "train" else (dataset.train, dataset.samples)
    labels = class_labels(dataset)[start:end]
    hands: list[list[Indices]] = [[] for _ in counts]
    for label in range(dataset.classes):
        found = start + np.flatnonzero(labels == label)
        deck = generator(seed, f"split/{part}/label", label).permutation(found)
        for client, stop in enumerate(np.cumsum(counts[:, label])):
            hands[client].append(deck[stop - counts[client, label] : stop])
    # Shuffled, because a client's samples in label order would make batches of one label.
    return [
        generator(seed, f"split/{part}/order", client).permutation(np.concatenate(hand).astype(np.int64))
        for client, hand in enumerate(hands)
    ]
