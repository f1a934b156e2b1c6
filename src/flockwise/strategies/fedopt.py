"""FedOpt: FedAdam, FedYogi, FedAdagrad (Reddi et al., ICLR 2021, Algorithm 2) and FedAvgM (Hsu et al., 2019).

FedAvg, but the server does not jump to the clients' mean: it takes the mean of their updates for a gradient and steps
along it with momentum, and, but for momentum alone, with a rate of its own for each coordinate. It helps where clients
disagree or gradients are sparse; `server_rate` matters, try 0.001 to 1 (1 for momentum).

Where we differ: any rule may take the place of the mean, and statistics of batches are averaged plainly. As in the
paper, and unlike Flower's FedAdam, there is no correction of the first rounds' bias; v starts from tau squared.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import Positive
from flockwise.stages import Method, average, chain, sample, train
from flockwise.stages.server_step import Decay, Optimizer, ServerRate, ServerStep, server_step
from flockwise.strategies.strategy import MEAN, strategy


@strategy(
    "one model for all, the server steps with Adam, Yogi, Adagrad or momentum", "Reddi et al., ICLR 2021"
)
def fedopt(
    *,
    rule: Rule = MEAN,
    optimizer: Optimizer = "adam",
    server_rate: ServerRate = 0.1,
    beta1: Annotated[Decay, "how much of the last step goes on"] = 0.9,
    beta2: Annotated[Decay, "adam, yogi: how long squares are remembered"] = 0.99,
    tau: Annotated[Positive, "bounds how much slow coordinates are sped up"] = 1e-3,
) -> Method:
    """One model for all, with an optimiser on the server."""
    step = ServerStep(optimizer, server_rate, beta1, beta2, tau)
    return Method(chain(train(sample), average(rule.strictly()), server_step(step)))
