"""FedBABU, body aggregation and body update (Oh et al., ICLR 2022, Algorithm 1).

For `rounds_before` rounds clients train and share the body alone, under a random head that is the same for all and never
moves; then every client fine-tunes body and head by itself. With `flocks` bodies are shared inside flocks.

    Algorithm 1, client update: theta_ext <- theta_ext - eta * gradient, theta_cls stays at theta_cls_0.
    Section 5.2: fine-tuning of the whole model for tau_f epochs, before it is tested.

Where we differ: fine-tuning is rounds of its own (with the recipe of `[training]`), so that it is on the record, costs what
it costs, and resumes; published code repeats it before each test.
"""

from flockwise.aggregation import Rule
from flockwise.stages import Method
from flockwise.stages.own_heads import BodyFirst
from flockwise.strategies.inside import Flocks, Head, RoundsBefore, personal_inside, then_alone
from flockwise.strategies.strategy import MEAN, strategy


@strategy("a body under a fixed head, then fine-tuning", "Oh et al., ICLR 2022", example={"rounds_before": 4})
def fedbabu(
    *, rule: Rule = MEAN, head: Head = 1, rounds_before: RoundsBefore = 18, flocks: Flocks = None
) -> Method:  # fmt: skip
    """The body jointly, then everything alone."""
    joint = personal_inside(flocks, rule, BodyFirst(head, rounds=rounds_before))
    return then_alone(joint, rounds_before)
