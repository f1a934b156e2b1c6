"""Clients that each have one majority class (the communities paper, on CIFAR-10).

Client k has a share m_k of its samples from class k and the rest in equal parts from the other classes;
m_k = 1 gives every client a single class. The true groups are super-classes: for CIFAR-10 vehicles and
animals, which nobody tells the server.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import InputError
from flockwise.options import Share
from flockwise.rng import generator
from flockwise.splits.apportion import apportion
from flockwise.splits.by_label import deal_counts, fit_sizes, label_pools
from flockwise.splits.contract import Samples, Test, Validation, split
from flockwise.splits.sizes import Sizes, check_clients, training_sizes

SUPER_CLASSES: dict[str, tuple[tuple[int, ...], ...]] = {
    "cifar-10": ((0, 1, 8, 9), (2, 3, 4, 5, 6, 7)),  # vehicles, animals
    "fashion-mnist": ((0, 1, 2, 3, 4, 6), (5, 7, 9), (8,)),  # clothes, shoes, bags
    "femnist": (
        tuple(range(10)),
        tuple(range(10, 36)),
        tuple(range(36, 62)),
    ),  # digits, capitals, small letters
}


@split("one majority class per client; groups are super-classes")
def majority_class(
    dataset: Dataset,
    clients: int = 10,
    seed: int = 0,
    majority: Annotated[Share, "share of the majority class, m_k in the paper"] = 0.7,
    super_classes: Annotated[
        Sequence[Sequence[int]] | None, "labels of each true group; none: those known of the data set"
    ] = None,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Give client k a share `majority` of class k mod classes and equal parts of all others.

    Groups are the super-classes of the majority classes: those given, else the ones known for CIFAR-10,
    Fashion-MNIST and FEMNIST, else each class is its own. Without `samples` clients get as many samples
    as the scarcest class allows. The paper judges on the whole test part: `Federation.official_test`.

    >>> from flockwise.data import load
    >>> federation = majority_class(load("digits"), samples=100, majority=0.55, validation=0)
    >>> federation.label_counts()[3].tolist()
    [5, 5, 5, 55, 5, 5, 5, 5, 5, 5]
    """
    check_clients(clients)
    classes = dataset.classes
    if not 0 <= majority <= 1:
        raise InputError(f"majority = {majority}: must be 0 to 1; 0.7 gives 7 of 10 samples to one class")
    if classes < 2:
        raise InputError(f"dataset = {dataset.name} with {classes} class: must have at least 2 classes")
    group_of = _groups(dataset, super_classes)
    main = np.arange(clients) % classes
    mixes = np.full((clients, classes), (1.0 - majority) / (classes - 1))
    mixes[np.arange(clients), main] = majority
    pool = label_pools(dataset)[0]
    wanted = training_sizes(clients, dataset.train, sizes, samples, generator(seed, "split/sizes"))
    fixed = samples is not None or not isinstance(sizes, str)
    counts = apportion(mixes, fit_sizes(mixes, wanted, pool, fixed), pool)
    dealt = deal_counts(dataset, counts, seed, validation, test)
    shards = (Shard(*parts, group=group_of[main[client]]) for client, parts in enumerate(dealt))
    return Federation(dataset, tuple(shards))


def _groups(dataset: Dataset, super_classes: Sequence[Sequence[int]] | None) -> list[int]:
    """The super-class of each class."""
    known = SUPER_CLASSES.get(dataset.name, tuple((label,) for label in range(dataset.classes)))
    chosen = known if super_classes is None else super_classes
    if sorted(label for group in chosen for label in group) != list(range(dataset.classes)):
        raise InputError(
            f"super_classes = {[list(group) for group in chosen]}: must hold every label of 0 to "
            f"{dataset.classes - 1} exactly once"
        )
    return [next(n for n, group in enumerate(chosen) if label in group) for label in range(dataset.classes)]
