"""What a server sees of a client beside its update: address, time of day, user id."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from flockwise.errors import InputError

Visible = Literal["geo", "time", "user"]
MOST_GROUPS = 128  # two /16 networks of 10.0.0.0/8 for each, so that the ranges do not touch
USERS = 10_000  # user ids of one group; as many stay unused before the next group


class Features(NamedTuple):
    """The features of one client, the same in every report."""

    address: str  # in 10.0.0.0/8
    hour: float  # 0 to below 24
    user: int


def client_features(
    member: NDArray[np.int64], groups: int, visible: Visible, random: np.random.Generator
) -> list[Features]:
    """Features in which the group shows in one only; the other two are drawn regardless of it.

    Where visible, group g has the network 10.(g * 256 // groups).0.0/16, the middle half of the g-th part
    of the day, or users 20000 g to 20000 g + 9999. Where not, each client has the feature of a group drawn at
    random, so that values look alike in both cases. No two clients share an address or a user id.
    """
    if groups > MOST_GROUPS:
        raise InputError(f"groups = {groups}: must be at most {MOST_GROUPS} to have separate address ranges")
    clients = len(member)
    if clients > USERS:
        raise InputError(f"clients = {clients}: must be at most {USERS}, the user ids of one group")
    shown = {
        name: member if name == visible else random.integers(0, groups, clients) for name in get_args(Visible)
    }
    networks = shown["geo"] * (256 // groups)
    hosts = random.choice(2**16 - 2, size=clients, replace=False) + 1
    hours = (shown["time"] + random.uniform(0.25, 0.75, clients)) * 24.0 / groups
    users = 2 * USERS * shown["user"] + random.choice(USERS, size=clients, replace=False)
    return [
        Features(f"10.{network}.{host // 256}.{host % 256}", float(hour), int(user))
        for network, host, hour, user in zip(networks, hosts, hours, users, strict=True)
    ]
