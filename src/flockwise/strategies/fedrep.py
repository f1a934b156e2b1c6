"""FedRep, shared representations (Collins et al., ICML 2021, Algorithm 1).

As FedPer, but a client first trains its head alone on the body it was sent (l.6-8: many updates), then the body alone
under that head (l.9-10). With `flocks` it is the flock's representation under the client's own head.

Where we differ: the paper makes one update of the representation a round; here it is the epochs of `[training]`, and
`head_epochs` is how many the head gets before (the authors' code: `local_ep - local_rep_ep` of 10 and 1).
Batch statistics belong to the body, and are seen in both parts of the training, as in the authors' code.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.options import Count
from flockwise.stages import Method
from flockwise.stages.own_heads import HeadThenBody
from flockwise.strategies.inside import Flocks, Head, personal_inside
from flockwise.strategies.strategy import MEAN, strategy

HeadEpochs = Annotated[
    Count | None, "epochs of the head alone, before the body's; none: as many as training.epochs"
]


@strategy("own heads first, then the shared body", "Collins et al., ICML 2021")
def fedrep(
    *, rule: Rule = MEAN, head: Head = 1, head_epochs: HeadEpochs = None, flocks: Flocks = None
) -> Method:  # fmt: skip
    """The flock's representation, own head."""
    return personal_inside(flocks, rule, HeadThenBody(head, head_epochs=head_epochs))
