"""Groups of clients that name two classes the other way round (FL+HC and FLIC; after Sattler et al.).

Same features, different labels: within a group two labels are swapped, so no single model can be
right for all groups. FLIC uses 5 groups on MNIST (0 and 1 swapped, 2 and 3, ...), FL+HC 4.
"""

from collections.abc import Sequence
from typing import Annotated

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.errors import InputError
from flockwise.splits.classes import class_labels
from flockwise.splits.contract import Groups, Samples, Shared, Test, Validation, split
from flockwise.splits.sizes import Sizes, check_clients
from flockwise.splits.uniform import deal_uniformly


@split(
    "groups that swap the names of two classes",
    paper="Sattler, Mueller and Samek, Clustered federated learning, TNNLS 2020",
)
def label_swap(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    groups: Groups = 5,
    pairs: Annotated[
        Sequence[Sequence[int]] | None, "the labels that each group swaps; none: 2g and 2g + 1"
    ] = None,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Deal at random, then swap labels `pairs[group]` for the clients of each group.

    Client k is of group k mod `groups`. Without `pairs`, group g swaps labels 2g and 2g + 1.

    >>> from flockwise.data import load
    >>> label_swap(load("digits"), clients=10).shards[1].relabel
    (0, 1, 3, 2, 4, 5, 6, 7, 8, 9)
    """
    check_clients(clients, groups)
    class_labels(dataset)
    swaps = swapped_names(groups, pairs, dataset.classes)
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    kinds = [kind(group, relabel=names) for group, names in enumerate(swaps)]
    return Federation(dataset, Recipes.in_turn(dealt, kinds))


def swapped_names(groups: int, pairs: Sequence[Sequence[int]] | None, classes: int) -> list[tuple[int, ...]]:
    """What each group calls the classes."""
    return [_relabel(pair, classes) for pair in _pairs(groups, pairs, classes)]


def _pairs(groups: int, pairs: Sequence[Sequence[int]] | None, classes: int) -> Sequence[Sequence[int]]:
    if pairs is None:
        if 2 * groups > classes:
            raise InputError(
                f"groups = {groups}: must be at most {classes // 2}, one per pair of the {classes} classes; "
                "give pairs to choose overlapping ones"
            )
        return [(2 * group, 2 * group + 1) for group in range(groups)]
    if len(pairs) != groups:
        raise InputError(f"pairs = {len(pairs)} pairs: must be {groups}, one per group")
    if len({tuple(sorted(pair)) for pair in pairs}) < groups:
        raise InputError(f"pairs = {list(map(list, pairs))}: must differ, or two groups are the same")
    return pairs


def _relabel(pair: Sequence[int], classes: int) -> tuple[int, ...]:
    if len(pair) != 2 or pair[0] == pair[1] or not all(0 <= label < classes for label in pair):
        raise InputError(f"pairs = {list(pair)}: each must be two different labels of 0 to {classes - 1}")
    names = list(range(classes))
    names[pair[0]], names[pair[1]] = names[pair[1]], names[pair[0]]
    return tuple(names)
