"""Oracle flocks: FedAvg inside the split's own groups, known from the beginning. An upper bound, no method.

THE ONLY STRATEGY THAT READS THE TRUTH. What it reaches is what perfect flocks would reach; attackers count as a kind of
their own, so that nobody honest is averaged with one. Where clients drift, it knows the round in which they do. It
needs a split that knows groups, and cannot be had where nobody knows them, as in a deployment.
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method, average, chain, sample, train
from flockwise.stages.given_flocks import true_groups
from flockwise.strategies.strategy import MEAN, strategy


@strategy("flocks given by the truth: an upper bound", rule_sees_all=False, example=None)
def oracle(*, rule: Rule = MEAN) -> Method:
    """FedAvg inside the true groups."""
    return Method(chain(true_groups, train(sample), average(rule)), reads_truth=True)
