"""Groups of clients whose images are turned by quarter turns (FLIC, IFCA): same labels, other features."""

from flockwise.data import Dataset, Federation
from flockwise.data.recipes import Recipes, kind
from flockwise.errors import InputError
from flockwise.splits.contract import Groups, Samples, Shared, Test, Validation, split
from flockwise.splits.sizes import Sizes, check_clients
from flockwise.splits.uniform import deal_uniformly


@split(
    "groups whose images are turned by quarter turns",
    paper="Ghosh et al., An efficient framework for clustered federated learning, NeurIPS 2020",
)
def rotation(
    dataset: Dataset,
    clients: int = 100,
    seed: int = 0,
    groups: Groups = 4,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
    shared: Shared = False,
) -> Federation:
    """Deal at random, then turn the images of group g by g times 90 degrees.

    Client k is of group k mod `groups`. The images must be square, so that all have one shape.

    >>> from flockwise.data import load
    >>> [shard.turns for shard in rotation(load("digits"), clients=5).shards]
    [0, 1, 2, 3, 0]
    """
    check_clients(clients, groups)
    check_square(dataset, groups, "groups")
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test, shared)
    return Federation(dataset, Recipes.in_turn(dealt, [kind(group, turns=group) for group in range(groups)]))


def check_square(dataset: Dataset, turns: int, field: str = "turns") -> None:
    """Refuse more turns than there are, and images that would change their shape."""
    if turns > 4:
        raise InputError(f"{field} = {turns}: must be 1 to 4, because four quarter turns are a full one")
    if len(dataset.shape) < 2 or dataset.shape[0] != dataset.shape[1]:
        raise InputError(f"dataset = samples of shape {dataset.shape}: must be square images to be turned")
