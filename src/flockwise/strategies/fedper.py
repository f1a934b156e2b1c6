"""FedPer, federated learning with personalization layers (Arivazhagan et al., 2019, Algorithms 1 and 2).

The first layers, the body, are averaged; the last ones, the head, never leave the client. Every client trains both
together. With `flocks` it is the flock's body under the client's own head.

    Algorithm 1 (client): on W_B from the server, (W_B, W_P) <- SGD(W_B, W_P); W_B goes back, W_P stays.
    Algorithm 2 (server): W_B <- weighted mean of the bodies of the round.

Where we differ: the paper keeps whole blocks of a ResNet (its K_P from 1 to 4); `head` counts layers that hold
parameters. Heads begin alike for all clients. Only a share of the clients may take part in a round.
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method
from flockwise.stages.personal import Personal
from flockwise.strategies.inside import Flocks, Head, personal_inside
from flockwise.strategies.strategy import MEAN, strategy


@strategy("a shared body, each client's own head", "Arivazhagan et al., 2019")
def fedper(*, rule: Rule = MEAN, head: Head = 1, flocks: Flocks = None) -> Method:
    """The flock's body, own head."""
    return personal_inside(flocks, rule, Personal(head))
