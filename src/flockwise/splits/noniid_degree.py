"""Mini-FL's groups: each group has its own labels to a degree p, and shows in one feature of its reports.

Li et al., "Mini-FL": m groups of clients share l labels; a client of s samples gets p * s of its group's
labels and the rest at random. The server sees an address, a time and a user id with every report; the
group is visible in one of them (the paper: each group has its own IP range) and the others are noise.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from flockwise.data import Dataset, Federation, Shard
from flockwise.errors import InputError
from flockwise.options import Count, Share
from flockwise.rng import generator
from flockwise.splits.apportion import apportion
from flockwise.splits.by_label import deal_counts, fit_sizes, label_pools
from flockwise.splits.contract import Groups, Samples, Test, Validation, split
from flockwise.splits.features import Visible, client_features
from flockwise.splits.members import checked_groups, members_in_turn
from flockwise.splits.sharing import draw_shared
from flockwise.splits.sizes import Sizes, check_clients, largest_remainder, training_sizes

PAPER_SIZES = (5, 5, 4, 3, 3)  # of 20 clients, Mini-FL Table 3


@split(
    "Mini-FL's groups, visible in address, time or user id",
    paper="Li et al., Mini-FL: enhance federated learning by grouping clients",
)
def noniid_degree(
    dataset: Dataset,
    clients: int = 20,
    seed: int = 0,
    degree: Annotated[Share, "share of samples of the group's own labels, p in the paper"] = 1.0,
    groups: Groups = 5,
    group_sizes: Annotated[
        Sequence[Count] | None, "clients of each group; none: 5, 5, 4, 3, 3 of 20 as in the paper"
    ] = None,
    visible: Annotated[Visible, "where the group shows: address, hour or user id"] = "geo",
    replacement: Annotated[bool, "a sample may be with several clients"] = False,
    sizes: Sizes = "equal",
    samples: Samples = None,
    validation: Validation = 0.1,
    test: Test = None,
) -> Federation:
    """Deal a share `degree` from the labels of the client's group and the rest from all labels.

    Group g of 5 on ten classes has labels 2g + 1 and 2g + 2 mod 10, and clients are dealt to groups in
    turn, both as in the paper's Table 3; `group_sizes` defaults to its 5, 5, 4, 3, 3 scaled to `clients`,
    or to equal sizes for another number of groups. Without `samples` clients get what the scarcest label
    allows (MNIST, degree 1, 20 clients: 2,394 each).

    The paper gives every client the same s without saying how large. Its published gap between plain and
    grouped averaging is matched by s = 3000, which is more than five clients can have of two labels unless
    they share samples: `replacement=True` lets clients draw independently, so a sample may be with several
    clients (never twice with one client unless the label has fewer samples than asked). Validation samples
    are kept apart from everybody's training samples even then, and test samples are never shared.

    >>> from flockwise.data import load
    >>> federation = noniid_degree(load("digits"))
    >>> federation.groups[:6].tolist(), federation.shards[0].address.startswith("10.0.")
    ([0, 1, 2, 3, 4, 0], True)
    """
    check_clients(clients, groups)
    if not 0 <= degree <= 1:
        raise InputError(f"degree = {degree}: must be 0 to 1; 1 gives a group its own labels only")
    if groups > dataset.classes:
        raise InputError(f"groups = {groups}: must be at most {dataset.classes}, one label for each at least")
    if not replacement and clients > dataset.train:
        raise InputError(
            f"clients = {clients}: must be at most {dataset.train}, the number of training samples"
        )
    member = _members(clients, groups, group_sizes)
    pool = label_pools(dataset)[0]
    mixes = _mixes(pool, groups, degree)[member]
    if replacement:
        if samples is None or sizes != "equal":
            raise InputError(
                "replacement = True: needs samples, a number that all clients get, and equal sizes"
            )
        dealt = draw_shared(dataset, mixes, samples, seed, validation, test)
    else:
        wanted = training_sizes(clients, dataset.train, sizes, samples, generator(seed, "split/sizes"))
        fixed = samples is not None or not isinstance(sizes, str)
        counts = apportion(mixes, fit_sizes(mixes, wanted, pool, fixed), pool)
        dealt = deal_counts(dataset, counts, seed, validation, test)
    seen = client_features(member, groups, visible, generator(seed, "split/features"))
    shards = (
        Shard(*parts, group=int(member[client]), address=look.address, hour=look.hour, user=look.user)
        for client, (parts, look) in enumerate(zip(dealt, seen, strict=True))
    )
    return Federation(dataset, tuple(shards))


def _members(clients: int, groups: int, group_sizes: Sequence[int] | None) -> NDArray[np.int64]:
    """The group of each client, dealt in turn to the groups that still have room."""
    if group_sizes is None:
        weights = np.array(PAPER_SIZES if groups == len(PAPER_SIZES) else [1] * groups, dtype=np.float64)
        room = np.maximum(largest_remainder(weights, clients), 1)
        while room.sum() > clients:
            room[np.argmax(room)] -= 1
    else:
        room = checked_groups(clients, groups, group_sizes)
    return members_in_turn(room)


def _mixes(pool: NDArray[np.int64], groups: int, degree: float) -> NDArray[np.float64]:
    """(groups, labels) the share of each label; the remainder comes from all labels, the own included."""
    shares = pool / pool.sum()
    labels = np.roll(np.arange(len(pool)), -1)
    mixes = np.tile((1.0 - degree) * shares, (groups, 1))
    for group, own in enumerate(np.array_split(labels, groups)):
        if not pool[own].sum():
            raise InputError(f"groups = {groups}: labels {own.tolist()} of group {group} have no samples")
        mixes[group, own] += degree * pool[own] / pool[own].sum()
    return mixes
