"""Clients that know only a few labels each (McMahan et al. 2017; FL+HC's pathological non-IID).

FL+HC: 100 clients, 600 MNIST digits of two labels each, for example 300 twos and 300 sevens. McMahan et
al. cut the sorted data into 200 slices and give two to each client, so that some clients get one or
three labels; here every client has exactly `labels` labels, which is what FL+HC describes.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import InputError
from flockwise.options import Count
from flockwise.rng import generator
from flockwise.splits.apportion import apportion
from flockwise.splits.by_label import deal_counts, label_pools
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.sizes import Sizes, check_clients, largest_remainder, training_sizes


@split(
    "a few labels for each client, no groups",
    paper="McMahan et al., Communication-efficient learning, AISTATS 2017",
)
def pathological(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    labels: Annotated[Count, "labels of each client"] = 2,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Give each client `labels` random labels, in about equal numbers. There are no true groups.

    A label has holders in proportion to its samples. Sizes are as asked; the shares within a client give
    way a little where that is needed to use all data (MNIST, seed 0: 283 to 317 of 600).

    >>> from flockwise.data import load
    >>> federation = pathological(load("digits"), clients=20)
    >>> set((federation.label_counts() > 0).sum(axis=1).tolist())
    {2}
    """
    check_clients(clients)
    pool = label_pools(dataset)[0]
    known = int(np.count_nonzero(pool))
    if not 1 <= labels <= known:
        raise InputError(
            f"labels = {labels}: must be 1 to {known}, the number of labels in the training part"
        )
    counts = training_sizes(
        clients, dataset.train, sizes, samples, generator(seed, "split/sizes"), minimum=labels
    )
    held = _hold(pool, clients, labels, generator(seed, "split/labels"))
    table = apportion(held.astype(np.float64), counts, pool)
    short = int(np.argmax(counts - table.sum(axis=1)))
    fixed = samples is not None or not isinstance(sizes, str)
    if fixed and table[short].sum() < counts[short]:
        raise InputError(
            f"samples = {counts[short]} for client {short}: its {labels} labels have only "
            f"{table[short].sum()} left; ask for fewer samples or more labels"
        )
    dealt = deal_counts(dataset, table, seed, validation, test)
    return Federation(dataset, tuple(Shard(*parts) for parts in dealt))


def _hold(
    pool: NDArray[np.int64], clients: int, labels: int, random: np.random.Generator
) -> NDArray[np.bool_]:
    """(clients, classes) which client holds which label: `labels` per row, random but balanced."""
    left = _holders(pool, clients, labels)
    held = np.zeros((clients, len(pool)), dtype=bool)
    for client in range(clients):
        # A label that needs as many holders as there are clients left must be taken now.
        must = left == clients - client
        others = np.where(must, 0, left).astype(np.float64)
        free = labels - int(must.sum())
        chosen = must.copy()
        if free:
            chosen[random.choice(len(pool), size=free, replace=False, p=others / others.sum())] = True
        held[client] = chosen
        left = left - chosen
    return held


def _holders(pool: NDArray[np.int64], clients: int, labels: int) -> NDArray[np.int64]:
    """How many clients hold each label: in proportion to its samples, at most all of them."""
    full = np.zeros(len(pool), dtype=bool)
    while True:
        rest = np.where(full, 0.0, pool.astype(np.float64))
        counts = np.where(full, clients, 0)
        if rest.sum() > 0:
            counts = counts + largest_remainder(rest, clients * labels - clients * int(full.sum()))
        if (counts <= clients).all():
            return counts.astype(np.int64)
        full |= counts >= clients
