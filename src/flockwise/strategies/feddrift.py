"""FedDrift, flocks that follow drift by losses (Jothimurugesan et al., AISTATS 2023, Algorithm 2).

Every client begins alone. Every `every` rounds all clients score all flocks' models:

    a client whose lowest loss has grown by more than delta since the last look has drifted: it goes on alone for a while
    any other client belongs to the model with its lowest loss
    flocks i, j are D = max(L_ij - L_ii, L_ji - L_jj, 0) apart, where L_ij is the loss of model i on the data of flock j;
    complete linkage merges them up to delta, and models of flocks that merge are averaged

Between looks, FedAvg inside flocks. It needs no number of flocks, follows drift whenever and wherever it comes, and
compares nothing but losses. It assumes that clients have enough validation data for a loss to mean something.

Where we differ: losses are on validation data (the paper has all data of a time step). A drifted client goes on from the
model it does best with, not from a random one. L_ij is the median over flock j's members, so that no one decides. `drift`
and `merge` may differ; the paper uses one delta for both.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import Count, NonNegative
from flockwise.stages import Every, Method, average, chain, nothing, sample_from_all, train, when
from flockwise.stages.given_flocks import each_alone
from flockwise.stages.reconsider import reconsider
from flockwise.strategies.strategy import MEAN, strategy

Drift = Annotated[NonNegative, "delta: a client whose lowest loss grows by more has drifted"]
Merge = Annotated[NonNegative, "flocks whose models lose at most so much more on each other's data are one"]


@strategy("flocks that part and merge by losses", "Jothimurugesan et al., AISTATS 2023", example={"every": 3})
def feddrift(
    *,
    rule: Rule = MEAN,
    every: Annotated[Count, "rounds from one look to the next"] = 5,
    drift: Drift = 0.5,
    merge: Merge = 0.5,
) -> Method:
    """Alone at first; flocks by losses."""
    begin = when(lambda round: round.number == 1, each_alone, otherwise=nothing)
    look = reconsider(Every(every, every), drift, merge)
    return Method(chain(begin, train(sample_from_all), average(rule), look))
