"""Ditto, fair and robust personalization (Li et al., ICML 2021, Algorithm 1).

The shared model is trained as FedAvg has it. Beside it every client keeps a whole model of its own, v, and uses that one:

    l.7: v_k <- v_k - eta * (gradient of F_k at v_k + lambda * (v_k - w_t)), for some steps
    l.5, l.9: w_t is trained and averaged as usual; what an attacker does to it reaches v only through the pull

`pull` is lambda. With `flocks` every client is pulled towards its flock's model.

Where we differ: v begins from the first model that the client is sent (the paper's from the first of all), so that
a newcomer does not begin from nothing. Steps are plain gradient steps, as in the paper.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import NonNegative
from flockwise.stages import Method
from flockwise.stages.own_beside import Pulled
from flockwise.strategies.inside import Flocks, personal_inside
from flockwise.strategies.strategy import MEAN, strategy

Pull = Annotated[NonNegative, "lambda: how strongly own models are pulled to the shared one; 0: alone"]


@strategy("own models, pulled to the shared one", "Li et al., ICML 2021")
def ditto(*, rule: Rule = MEAN, pull: Pull = 0.1, flocks: Flocks = None) -> Method:
    """Own models beside the flock's."""
    return personal_inside(flocks, rule, Pulled(pull=pull))
