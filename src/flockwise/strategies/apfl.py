"""APFL, adaptive personalized federated learning (Deng, Kamani and Mahdavi, 2020, Algorithm 1).

Every client uses a mix of a model of its own, v, and the shared one, w:

    v_bar = alpha * v + (1 - alpha) * w
    w <- w - eta * gradient of f at w              what is averaged
    v <- v - eta * alpha * gradient of f at v_bar  what stays
    alpha <- alpha - eta * <v - w, gradient of f at v_bar>, once a round, if it is `adaptive` (the paper's eq. for alpha)

With `flocks` every client mixes its own with its flock's model.

Where we differ: the authors' code (FedTorch) mixes the outputs of the two models and shrinks alpha by 0.02 a round;
the paper mixes models, and so do we. v begins from the first model that the client is sent.
"""

from typing import Annotated

from pydantic import Field

from flockwise.aggregation import Rule
from flockwise.stages import Method
from flockwise.stages.own_beside import Mixed
from flockwise.strategies.inside import Flocks, personal_inside
from flockwise.strategies.strategy import MEAN, strategy

Alpha = Annotated[float, Field(ge=0, le=1), "how much of the mix is the client's own, at first"]
Adaptive = Annotated[bool, "every client learns its alpha"]


@strategy("a mix of an own and the shared model", "Deng et al., 2020")
def apfl(
    *, rule: Rule = MEAN, alpha: Alpha = 0.5, adaptive: Adaptive = True, flocks: Flocks = None
) -> Method:
    """Own models mixed with the flock's."""
    return personal_inside(flocks, rule, Mixed(alpha=alpha, adaptive=adaptive))
