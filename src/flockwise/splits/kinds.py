"""Kinds of clients that differ in the names of two classes, in how images are turned, or in both; some may be rare.

Label swaps change what labels mean and turns change what features look like; federations in the wild have both at once.
Kind g swaps the labels of pair g mod `swaps` (none for the first) and turns its images g div `swaps` times:
many kinds from few ways to differ.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.errors import InputError
from flockwise.options import Count
from flockwise.splits.classes import class_labels
from flockwise.splits.contract import Samples, Shared, Test, Validation, split
from flockwise.splits.label_swap import swapped_names
from flockwise.splits.members import checked_groups, members_in_turn
from flockwise.splits.rotation import check_square
from flockwise.splits.sizes import Sizes, check_clients, largest_remainder
from flockwise.splits.uniform import deal_uniformly


@split("groups that differ in swapped labels, in turned images or in both; some may be small")
def kinds(
    dataset: Dataset,
    clients: int = 40,
    seed: int = 0,
    swaps: Annotated[
        Count, "ways to name the classes: as they are, 0 and 1 swapped, 2 and 3 swapped, ..."
    ] = 2,
    turns: Annotated[Count, Field(le=4), "ways to turn images, by quarter turns"] = 2,
    group_sizes: Annotated[
        Sequence[Count] | None, "clients of each of the swaps x turns kinds; none: as equal as can be"
    ] = None,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Deal at random, then swap and turn; kinds take turns at clients while they have room.

    >>> from flockwise.data import load
    >>> federation = kinds(load("digits"), clients=6, group_sizes=[3, 1, 1, 1])
    >>> [(shard.group, shard.turns) for shard in federation.shards]
    [(0, 0), (1, 0), (2, 1), (3, 1), (0, 0), (0, 0)]
    """
    groups = swaps * turns
    check_clients(clients)
    if groups > clients:
        raise InputError(f"swaps x turns = {groups} kinds: must be at most {clients}, the number of clients")
    class_labels(dataset)
    if 2 * (swaps - 1) > dataset.classes:
        raise InputError(
            f"swaps = {swaps}: must be at most {dataset.classes // 2 + 1}, one pair of classes each"
        )
    if turns > 1:
        check_square(dataset, turns)
    even = largest_remainder(np.ones(groups), clients)
    room = even if group_sizes is None else checked_groups(clients, groups, group_sizes)
    names = [None, *(swapped_names(swaps - 1, None, dataset.classes) if swaps > 1 else [])]
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    looks = tuple(kind(g, relabel=names[g % swaps], turns=g // swaps) for g in range(groups))
    return Federation(dataset, Recipes(dealt, looks, members_in_turn(room)))
