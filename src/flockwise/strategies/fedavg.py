"""FedAvg (McMahan et al., AISTATS 2017): one model, a fraction of the clients a round, any aggregation rule.

The mean weighs clients by their number of samples; a robust rule in its place makes the usual baselines
(median, trimmed mean, Krum, ..., FLTrust with the server's own clean data).
"""

from flockwise.pieces.aggregation import PerFlock
from flockwise.server.method import Method
from flockwise.strategies.options import Options, Setting


class FedAvgOptions(Options):
    """FedAvg has no options of its own."""


def fedavg(options: FedAvgOptions, setting: Setting) -> Method:
    """One model for all."""
    return Method(
        name="fedavg",
        sampler=setting.sampler(),
        aggregation=PerFlock(setting.rule),
        needs_root=setting.rule.wants_root,
    )
