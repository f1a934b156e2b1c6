"""Groups of clients whose images are turned by quarter turns (FLIC, IFCA): same labels, other features."""

from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import InputError
from flockwise.splits.contract import Groups, Samples, Test, Validation, split
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
) -> Federation:
    """Deal at random, then turn the images of group g by g times 90 degrees.

    Client k is of group k mod `groups`. The images must be square, so that all have one shape.

    >>> from flockwise.data import load
    >>> [shard.turns for shard in rotation(load("digits"), clients=5).shards]
    [0, 1, 2, 3, 0]
    """
    check_clients(clients, groups)
    if groups > 4:
        raise InputError(f"groups = {groups}: must be 1 to 4, because four quarter turns are a full one")
    if len(dataset.shape) < 2 or dataset.shape[0] != dataset.shape[1]:
        raise InputError(f"dataset = samples of shape {dataset.shape}: must be square images to be turned")
    dealt = deal_uniformly(dataset, clients, seed, sizes, samples, validation, test)
    shards = (
        Shard(*parts, turns=client % groups, group=client % groups) for client, parts in enumerate(dealt)
    )
    return Federation(dataset, tuple(shards))
