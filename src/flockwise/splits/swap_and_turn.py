"""Groups that differ both in what they call two classes and in how their images are turned: many kinds from few."""

from typing import Annotated

from pydantic import Field

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.options import Count
from flockwise.splits.classes import class_labels
from flockwise.splits.contract import Samples, Shared, Test, Validation, split
from flockwise.splits.label_swap import swapped_names
from flockwise.splits.rotation import check_square
from flockwise.splits.sizes import Sizes, check_clients
from flockwise.splits.uniform import deal_uniformly


@split("groups that swap the names of two classes and turn their images: every pair of both")
def swap_and_turn(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    swaps: Annotated[Count, "ways to name the classes: the first swaps 0 and 1, the next 2 and 3, ..."] = 2,
    turns: Annotated[int, Field(ge=1, le=4), "ways to turn the images, by quarter turns"] = 2,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Deal at random; group g swaps labels 2s and 2s + 1 for s = g mod `swaps`, and makes g // `swaps` quarter turns.

    Client k is of group k mod (`swaps` * `turns`).

    >>> from flockwise.data import load
    >>> shard = swap_and_turn(load("digits"), clients=40, swaps=5, turns=4).shards[6]
    >>> shard.group, shard.relabel[:4], shard.turns
    (6, (0, 1, 3, 2), 1)
    """
    check_clients(clients, swaps * turns)
    class_labels(dataset)
    check_square(dataset, turns)
    names = swapped_names(swaps, None, dataset.classes)
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    kinds = [kind(g, relabel=names[g % swaps], turns=g // swaps) for g in range(swaps * turns)]
    return Federation(dataset, Recipes.in_turn(dealt, kinds))
