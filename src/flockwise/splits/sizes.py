"""How many samples each client gets."""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError

MOST_CLIENTS = 1_000_000  # the server has arrays with a row for each
SizeName = Literal["equal", "lognormal", "zipf"]
Sizes = Annotated[SizeName | Sequence[int], "how many samples clients have"]


def training_sizes(
    clients: int,
    available: int,
    sizes: str | Sequence[int],
    samples: int | None,
    random: np.random.Generator,
    minimum: int = 1,
) -> NDArray[np.int64]:
    """Training samples (validation included) of each client; their sum is at most `available`.

    `samples` is the number per client, or the average where sizes differ; without it everything is
    dealt. "lognormal" draws sizes with a standard deviation of 1 in the logarithm, "zipf" gives the
    n-th largest client 1/n of the largest, in random order; a sequence is taken as it is.
    """
    check_clients(clients)
    if not isinstance(sizes, str):
        return _explicit(clients, available, sizes, samples)
    if sizes not in get_args(SizeName):
        raise InputError(
            f"sizes = {sizes!r}: must be one of {', '.join(get_args(SizeName))} or a list of numbers"
        )
    if clients * minimum > available:
        raise InputError(
            f"clients = {clients}: must be at most {available // minimum}, "
            f"because there are {available} training samples and each client needs {minimum}"
        )
    if samples is not None and not minimum <= samples <= available // clients:
        raise InputError(
            f"samples = {samples}: must be {minimum} to {available // clients}, "
            f"because {clients} clients share {available} training samples"
        )
    if sizes == "equal":
        return np.full(clients, samples or available // clients, dtype=np.int64)
    if sizes == "lognormal":
        weights = random.lognormal(0.0, 1.0, clients)
    else:
        weights = random.permutation(1.0 / np.arange(1, clients + 1))
    total = samples * clients if samples else available
    return minimum + largest_remainder(weights, total - minimum * clients)


def testing_sizes(train: NDArray[np.int64], available: int, test: int | None) -> NDArray[np.int64]:
    """Test samples of each client: `test` each, or the whole test part in proportion to `train`."""
    clients = len(train)
    if test is not None:
        if not 0 <= test <= available // clients:
            raise InputError(
                f"test = {test}: must be 0 to {available // clients}, "
                f"because {clients} clients share {available} test samples"
            )
        return np.full(clients, test, dtype=np.int64)
    if clients > available:
        raise InputError(
            f"clients = {clients}: must be at most {available}, the number of test samples; "
            "test = 0 deals no test samples"
        )
    if (train == train[0]).all():
        return np.full(clients, available // clients, dtype=np.int64)
    return 1 + largest_remainder(train.astype(np.float64), available - clients)


def largest_remainder(weights: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Whole numbers in proportion to `weights` that add up to `total` (Hamilton's method)."""
    exact = weights * (total / weights.sum())
    counts: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def check_clients(clients: int, groups: int | None = None) -> None:
    """Refuse a federation of nobody, one that no machine holds, and more groups than clients."""
    if not 1 <= clients <= MOST_CLIENTS:
        raise InputError(f"clients = {clients}: must be at least 1 and at most {MOST_CLIENTS}")
    if groups is not None and not 1 <= groups <= clients:
        raise InputError(f"groups = {groups}: must be 1 to {clients}, the number of clients")


def _explicit(clients: int, available: int, sizes: Sequence[int], samples: int | None) -> NDArray[np.int64]:
    values = np.asarray(sizes)
    if samples is not None:
        raise InputError(
            f"samples = {samples}: must be left out where sizes is a list, which says it already"
        )
    if values.shape != (clients,) or not np.issubdtype(values.dtype, np.integer):
        raise InputError(f"sizes = {len(values)} values: must be {clients} whole numbers, one per client")
    if values.min() < 1 or values.sum() > available:
        raise InputError(
            f"sizes = {values.min()} to {values.max()}, {values.sum()} together: each must be at least 1 "
            f"and the sum at most {available}, the number of training samples"
        )
    return values.astype(np.int64)
