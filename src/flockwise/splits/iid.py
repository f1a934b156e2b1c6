"""Every client draws from the same distribution: the case in which one model fits all."""

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.splits.contract import Samples, Shared, Test, Validation, split
from flockwise.splits.sizes import Sizes
from flockwise.splits.uniform import deal_uniformly


@split("every client draws from the same distribution")
def iid(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Shuffle and deal. All clients are of one group.

    >>> from flockwise.data import load
    >>> iid(load("digits"), clients=10, samples=100, test=20).sizes("train").tolist()
    [90, 90, 90, 90, 90, 90, 90, 90, 90, 90]
    """
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    return Federation(dataset, Recipes.in_turn(dealt, [kind(0)]))
