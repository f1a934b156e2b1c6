"""Groups of clients whose sensors differ: noisier, brighter or with less contrast. Same labels, other features.

The noise is the feature imbalance of Li et al., with groups instead of a level for each client (`groups = clients` is
theirs).
"""

from typing import Annotated, Literal

from pydantic import Field

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.data.view import View
from flockwise.errors import InputError
from flockwise.splits.contract import Groups, Samples, Shared, Test, Validation, split
from flockwise.splits.sizes import Sizes, check_clients
from flockwise.splits.uniform import deal_uniformly

Change = Literal["noise", "brightness", "contrast"]


@split(
    "groups whose features are noisier, brighter or of less contrast",
    paper="Li et al., Federated learning on non-IID data silos, ICDE 2022",
)
def feature_shift(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    groups: Groups = 4,
    change: Annotated[Change, "what differs from group to group"] = "noise",
    strength: Annotated[
        float,
        Field(gt=0, le=10),
        "of the last group: noise, brightness, or what contrast is divided by, less 1",
    ] = 0.5,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Deal at random; group g sees its samples changed by g / (groups - 1) of the `strength`, group 0 as they are.

    Client k is of group k mod `groups`.

    >>> from flockwise.data import load
    >>> [shard.view.noise for shard in feature_shift(load("digits"), clients=4, groups=3).shards]
    [0.0, 0.25, 0.5, 0.0]
    """
    check_clients(clients, groups)
    if dataset.tokens:
        raise InputError(
            f"dataset = {dataset.name}: tokens cannot be noisier or brighter; use data of numbers"
        )
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    views = [_view(change, strength * group / max(groups - 1, 1)) for group in range(groups)]
    kinds = [kind(group, view=view) for group, view in enumerate(views)]
    return Federation(dataset, Recipes.in_turn(dealt, kinds))


def _view(change: Change, amount: float) -> View:
    if change == "noise":
        return View(noise=amount)
    return View(brightness=amount) if change == "brightness" else View(contrast=1 / (1 + amount))
