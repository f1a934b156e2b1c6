"""Clients that hold very different amounts of the same data: sizes drawn from a Dirichlet distribution."""

from typing import Annotated

import numpy as np

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.errors import InputError
from flockwise.options import Count, Positive
from flockwise.rng import generator
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.sizes import check_clients, largest_remainder
from flockwise.splits.uniform import deal_uniformly


@split(
    "the same data in very different amounts: sizes drawn from a Dirichlet distribution",
    paper="Li et al., Federated learning on non-IID data silos, ICDE 2022",
)
def quantity(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    beta: Annotated[Positive, "small is extreme, large is nearly equal"] = 0.5,
    minimum: Annotated[Count, "least training samples of a client"] = 2,
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Deal at random, in sizes drawn from Dir(beta). All clients are of one group.

    >>> from flockwise.data import load
    >>> quantity(load("digits"), clients=5, beta=0.3, validation=0).sizes().sum()
    np.int64(1437)
    """
    check_clients(clients)
    total = dataset.train if samples is None else samples * clients
    if clients * minimum > total or total > dataset.train:
        raise InputError(
            f"clients = {clients}: {total} of {dataset.train} training samples must give each at least {minimum}; use fewer"
        )
    shares = generator(seed, "split/quantity").dirichlet(np.full(clients, beta)) + 1e-9
    sizes = minimum + largest_remainder(shares, total - clients * minimum)
    dealt = deal_uniformly(dataset, clients, seed, sizes.tolist(), None, validation, test)
    return Federation(dataset, Recipes.in_turn(dealt, [kind(0)]))
