"""FedAvg and local fine-tuning: rounds of FedAvg, then every client goes on alone from the joint model.

For `rounds_before` rounds as FedAvg, or as the clustered method named by `flocks`; in every round after, all clients
train the model they have, beginning from the joint (or their flock's) one, and keep it for themselves. One such round
of E epochs is "FedAvg + FT" of E epochs (Cheng et al., 2021; FedAvg+FT of the personalised benchmarks).

Clients fine-tune the whole model with the recipe of `[training]`. Flocks stay as they were on record.
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method
from flockwise.strategies.inside import Flocks, RoundsBefore, inside, then_alone
from flockwise.strategies.strategy import MEAN, strategy


@strategy("FedAvg, then every client goes on alone", example={"rounds_before": 4})
def fine_tuned(*, rule: Rule = MEAN, rounds_before: RoundsBefore = 18, flocks: Flocks = None) -> Method:
    """Joint rounds, then rounds alone."""
    return then_alone(inside(flocks, rule), rounds_before)
