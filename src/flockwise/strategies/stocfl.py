"""StoCFL, stochastic clustered federated learning (Zeng et al., 2023, Algorithm 1).

Every client that is drawn for the first time trains the anchor, the first model of the run, once; what it makes of it,
Psi, is what it is known by. It begins as a flock of its own. Every round the flocks of the clients drawn are compared by
the cosine of the means of their Psi, and those with at least `threshold` (tau) merge. Then FedAvg inside flocks. No number
of flocks is needed, only a share of the clients has to be there at a time, and newcomers need nothing special.

Where we differ: in the paper clients train a global model omega as well, and hold their flock's near to it while they
train, by lambda. That is twice the work and needs both models at the client; here the flock's model goes `pull` of the way
to the mean of all after each round. Merging is as in the authors' code: only drawn members count in a flock's mean, and
the larger flock's model goes on. A client never drawn has the largest flock's model.
"""

from typing import Annotated

from pydantic import Field

from flockwise.aggregation import Rule
from flockwise.stages import Method, average, chain, sample_from_all, train, when
from flockwise.stages.anchor import Anchor
from flockwise.stages.merge import merge_alike, pull_together
from flockwise.strategies.strategy import MEAN, strategy

Threshold = Annotated[float, Field(ge=-1, le=1), "tau: flocks at least so alike merge"]
Pull = Annotated[
    float, Field(ge=0, lt=1), "how far flocks' models go to the mean of all after a round; 0: not at all"
]


@strategy("merging of flocks by updates of an anchor", "Zeng et al., 2023", example={"pull": 0.1})
def stocfl(*, rule: Rule = MEAN, threshold: Threshold = 0.3, pull: Pull = 0.05) -> Method:
    """Flocks that merge, from single clients up."""
    anchor = Anchor()
    new = anchor.newcomers(sample_from_all)
    observe = chain(train(new, anchor), anchor.remember)
    return Method(
        chain(
            when(lambda round: len(new(round)) > 0, observe),
            merge_alike(anchor, threshold, sample_from_all),
            train(sample_from_all),
            average(rule),
            pull_together(pull),
        )
    )
