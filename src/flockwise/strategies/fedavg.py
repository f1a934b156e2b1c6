"""FedAvg (McMahan et al., AISTATS 2017): one model, a fraction of the clients a round, any aggregation rule.

The mean weighs clients by their number of samples; a robust rule in its place makes the usual baselines
(median, trimmed mean, Krum, ..., FLTrust with the server's own clean data).
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method, average, chain, sample, train
from flockwise.strategies.strategy import MEAN, strategy


@strategy("one model for all, with any aggregation rule", "McMahan et al., AISTATS 2017")
def fedavg(*, rule: Rule = MEAN) -> Method:
    """One model for all."""
    return Method(chain(train(sample), average(rule.strictly())))
