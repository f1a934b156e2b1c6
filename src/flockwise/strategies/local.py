"""Own models only: every client trains by itself, and nothing is ever averaged. What clients would have without federation.

A client's model goes to the server and comes back unchanged, so that the baseline runs on every engine, with the same
budget, the same record and the same checkpoints as what it is compared with.
"""

from flockwise.stages import Method, average, chain, sample_from_all, train
from flockwise.stages.given_flocks import each_alone
from flockwise.strategies.strategy import MEAN, strategy


@strategy("own models only: every client is alone", rule_sees_all=False)
def local() -> Method:
    """Every client is a flock of its own."""
    return Method(chain(each_alone, train(sample_from_all), average(MEAN)))
