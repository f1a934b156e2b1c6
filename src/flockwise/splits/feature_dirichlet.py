"""Clients that hold different regions of the feature space: a Dirichlet draw over bins of the main direction."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from flockwise.data import Dataset, Federation
from flockwise.errors import InputError
from flockwise.options import Count, Positive
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.dirichlet import dirichlet

MOST = 20_000  # samples that the direction is found from


@split("regions of the feature space, mixed by a Dirichlet draw: features differ, whatever the labels")
def feature_dirichlet(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    alpha: Annotated[Positive, "small is extreme, large is nearly IID"] = 0.5,
    bins: Annotated[int, Field(ge=2, le=1000), "regions along the direction in which samples vary most"] = 10,
    minimum: Annotated[Count, "least training samples of a client"] = 5,
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Cut the first principal direction of the training samples into `bins` of equal size, and deal by them as the split
    `dirichlet` deals by labels. Test samples come from the same regions. There are no true groups.

    >>> from flockwise.data import load
    >>> feature_dirichlet(load("digits"), clients=10, alpha=0.1, validation=0).sizes().sum()
    np.int64(1437)
    """
    if dataset.tokens:
        raise InputError(f"dataset = {dataset.name}: tokens have no direction; use data of numbers")
    along = _main_direction(dataset)
    edges = np.quantile(along[: dataset.train], np.linspace(0, 1, bins + 1)[1:-1])
    regions = np.searchsorted(edges, along).astype(np.int64)
    by_region = replace(dataset, y=regions, classes=bins, class_names=())
    dealt = dirichlet.function(
        by_region,
        clients,
        seed,
        alpha=alpha,
        minimum=minimum,
        samples=samples,
        validation=validation,
        test=test,
    )
    return Federation(dataset, dealt.shards)


def _main_direction(dataset: Dataset) -> NDArray[np.float64]:
    """Where each sample lies along the first principal direction of the training part."""
    places = np.unique(np.linspace(0, dataset.train - 1, min(dataset.train, MOST)).astype(np.int64))
    some = dataset.scaled(places).reshape(len(places), -1).astype(np.float64)
    mean = some.mean(axis=0)
    _, vectors = np.linalg.eigh((some - mean).T @ (some - mean))
    direction = vectors[:, -1]
    direction *= np.sign(direction[np.argmax(np.abs(direction))])  # either sign is right: always the same
    blocks = [
        np.arange(start, min(start + MOST, dataset.samples)) for start in range(0, dataset.samples, MOST)
    ]
    return np.concatenate([(dataset.scaled(b).reshape(len(b), -1) - mean) @ direction for b in blocks])
