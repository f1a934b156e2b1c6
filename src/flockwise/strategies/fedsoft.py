"""FedSoft, soft clustered federated learning (Ruan and Joe-Wong, AAAI 2022, Algorithm 1).

Clients may hold samples of several kinds. The server keeps k centres. Every `every` rounds each client says which share u of
its samples each centre fits best (l.4-8; a centre that fits none still gets sigma). Every client has a model of its own and
trains it with a pull to all centres by its shares (l.11: f(w) + lambda/2 sum of u |w - c|^2, that is, to their mean by u);
a centre is the mean of the clients' models, weighted by u and by their samples (l.12-14).

Where we differ: shares sum to one. All clients drawn count for every centre, by their shares; the paper draws clients
for each centre by them (its sums are the same in the mean). Shares are told after the training of a round and count from
then on: for this round's mean, and for the pull of the next.
"""

from typing import Annotated

from pydantic import Field

from flockwise.notes import AtMostClients
from flockwise.options import Count, NonNegative
from flockwise.stages import Every, Method, chain, sample_from_all, train
from flockwise.stages.own_beside import Pulled
from flockwise.stages.shares import MixedByShares, average_by_shares, weigh
from flockwise.strategies.strategy import strategy


@strategy("shares in several flocks, own models", "Ruan and Joe-Wong, AAAI 2022", rule_sees_all=False)
def fedsoft(
    *,
    flocks: Annotated[Count, AtMostClients(), "k: how many centres"] = 2,
    every: Annotated[Count, "rounds from one look at the shares to the next"] = 2,
    pull: Annotated[NonNegative, "lambda: how strongly own models are pulled to the centres"] = 0.1,
    least: Annotated[float, Field(gt=0, lt=1), "sigma: the share in a centre that fits no sample"] = 1e-4,
) -> Method:
    """Soft flocks."""
    mixed = MixedByShares()
    return Method(
        chain(train(sample_from_all, mixed), weigh(Every(1, every), least), average_by_shares),
        serve=mixed,
        models=flocks,
        personal=Pulled(pull=pull, sends_own=True),
    )
