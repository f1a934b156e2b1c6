"""FedGWC, clustering by Gaussian weights of losses (Licciardi et al., ICML 2025, Algorithm 1).

A client whose loss is usual among those of a round has a weight near one, an odd one a small weight. What clients weigh
is kept for every pair that took part together (the interaction matrix):

    r_i = exp(-(loss_i - mean)^2 / (2 variance))            over the clients of the round, by samples
    W_ij <- (1 - alpha) W_ij + alpha r_i / sum(r)           for i, j of the round; alpha = share of the flock's clients drawn

When W has stopped changing (`eps`), clients beside whom the others weigh alike are alike (a Gaussian kernel, `gamma`), and
spectral clustering splits the flock in as many as Davies and Bouldin's score says, if any. And so on inside each flock.

It learns from who is drawn beside whom: **with all clients in every round it never finds flocks**, nor with half of them
(the authors' code looks for at most K / P flocks of K clients, P of them drawn).

Where we differ: a client's loss is the mean of its round; the authors' code has every local step's, and the mean of the
weights. A flock is looked at again after as many calm
rounds as it takes to draw everybody; the authors' code starts counting anew.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import Positive
from flockwise.stages import Method, all_go_on, average, chain, place, sample, split_flocks, train
from flockwise.stages.loss_weights import BySettledWeights, LossWeights
from flockwise.strategies.strategy import MEAN, strategy


@strategy(
    "who has usual losses beside whom; flocks split when that is settled", "Licciardi et al., ICML 2025",
    start={"sampling": {"fraction": 0.2}},
)  # fmt: skip
def fedgwc(
    *,
    rule: Rule = MEAN,
    gamma: Annotated[Positive, "sharpness of the kernel that compares clients"] = 4.0,
    eps: Annotated[Positive, "weights that change by less, in squares, have settled"] = 1e-5,
) -> Method:
    """FedAvg inside flocks that part by losses."""
    losses = LossWeights(eps)
    parts = split_flocks(losses, BySettledWeights(gamma), all_go_on)
    return Method(chain(train(sample), losses.remember, average(rule), parts, place()))
