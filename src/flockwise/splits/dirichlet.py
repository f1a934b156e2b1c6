"""Label mixes drawn from a Dirichlet distribution: the usual knob between IID and one label per client.

With sizes "natural" each label is divided over the clients by a draw of Dir(alpha), so sizes differ too
(Yurochkin et al. 2019, NIID-Bench). With any other `sizes` each client draws its own mix from Dir(alpha)
(Hsu et al. 2019) and has as many samples as asked.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import InputError
from flockwise.options import Count, Positive
from flockwise.rng import generator
from flockwise.splits.apportion import apportion
from flockwise.splits.by_label import deal_counts, label_pools
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.sizes import check_clients, largest_remainder, training_sizes

DRAWS = 20  # before clients that are too small are topped up


@split(
    "label mixes drawn from a Dirichlet distribution",
    paper="Yurochkin et al., Bayesian nonparametric federated learning, ICML 2019; Hsu, Qi and Brown, 2019",
)
def dirichlet(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    alpha: Annotated[Positive, "small is extreme, large is nearly IID"] = 0.5,
    minimum: Annotated[Count, "least training samples of a client"] = 5,
    sizes: Annotated[
        Literal["natural", "equal", "lognormal", "zipf"] | Sequence[int],
        "how many samples clients have; natural: as the label mixes give them",
    ] = "natural",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Deal with label mixes of concentration `alpha`: small is extreme, large is nearly IID.

    No client gets fewer than `minimum` training samples: up to 20 draws are made, then the largest
    clients give some of their most frequent label to those that are still short. There are no true groups.

    >>> from flockwise.data import load
    >>> dirichlet(load("digits"), clients=10, alpha=0.1, validation=0).sizes().sum()
    np.int64(1437)
    """
    check_clients(clients)
    if not 0 < alpha < np.inf:
        raise InputError(f"alpha = {alpha}: must be above 0; 0.1 is extreme, 0.5 usual, 100 nearly IID")
    if minimum < 1:
        raise InputError(f"minimum = {minimum}: must be at least 1")
    if clients * minimum > dataset.train:
        raise InputError(
            f"clients = {clients}: must be at most {dataset.train // minimum}, so that each gets {minimum} "
            f"of {dataset.train} training samples; lower minimum for more"
        )
    pool, random = label_pools(dataset)[0], generator(seed, "split/mixes")
    if sizes == "natural":
        if samples is not None:
            if not minimum <= samples <= dataset.train // clients:
                raise InputError(
                    f"samples = {samples}: must be {minimum} (minimum) to {dataset.train // clients}, "
                    f"because {clients} clients share {dataset.train} training samples"
                )
            pool = largest_remainder(pool.astype(np.float64), samples * clients)
        counts = _natural(pool, clients, alpha, minimum, random)
    else:
        wanted = training_sizes(
            clients, dataset.train, sizes, samples, generator(seed, "split/sizes"), minimum=minimum
        )
        # The small addition keeps every label possible, so that the sizes can always be met.
        mixes = random.dirichlet(np.full(dataset.classes, alpha), clients) + 1e-9
        counts = apportion(mixes * (pool > 0), wanted, pool)
    dealt = deal_counts(dataset, counts, seed, validation, test)
    return Federation(dataset, tuple(Shard(*parts) for parts in dealt))


def _natural(
    pool: NDArray[np.int64], clients: int, alpha: float, minimum: int, random: np.random.Generator
) -> NDArray[np.int64]:
    best = _draw(pool, clients, alpha, random)
    for _ in range(DRAWS - 1):
        if best.sum(axis=1).min() >= minimum:
            return best
        again = _draw(pool, clients, alpha, random)
        best = max(best, again, key=lambda counts: int(np.minimum(counts.sum(axis=1), minimum).sum()))
    sizes = best.sum(axis=1)
    while sizes.min() < minimum:
        giver, taker = int(np.argmax(sizes)), int(np.argmin(sizes))
        label = int(np.argmax(best[giver]))
        best[giver, label] -= 1
        best[taker, label] += 1
        sizes[giver] -= 1
        sizes[taker] += 1
    return best


def _draw(
    pool: NDArray[np.int64], clients: int, alpha: float, random: np.random.Generator
) -> NDArray[np.int64]:
    shares = random.dirichlet(np.full(clients, alpha), len(pool))
    columns = [largest_remainder(share, int(count)) for share, count in zip(shares, pool, strict=True)]
    return np.stack(columns, axis=1)
