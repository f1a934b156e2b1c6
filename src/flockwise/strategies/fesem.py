"""FeSEM, multi-center federated learning (Xie et al., WWWJ 2023, Algorithm 1), and WeCFL (Ma et al., 2022).

The server keeps k centres. Every round the clients train the model of their centre, and then

    E-step: client i belongs to the centre nearest to its model, r_i = argmin_k |W_i - C_k|
    M-step: C_k is the mean of the models of its clients; with `weights = "size"` by their samples, which is WeCFL's

Centres keep their place from round to round. It assumes that k is known and that clients of one kind have models close
to each other, which holds for a while if they begin from one model.

Where we differ: the paper begins from k random models; a client's model is then nearest to whichever it was sent, and
centres do not find kinds. Here all clients begin from one model, and k-means
on their models after the first round of training finds the first centres. A client's newest model counts
where it was not heard this round. A client never heard picks a centre's model by its validation data.
"""

from typing import Annotated, Literal

from flockwise.aggregation import Rule
from flockwise.notes import AtMostClients
from flockwise.options import Count
from flockwise.stages import (
    Method,
    average_known,
    chain,
    find_flocks,
    latest_models,
    nothing,
    place,
    sample_from_all,
    train,
)
from flockwise.stages.centres import NearestCentre
from flockwise.stages.claims import by_claims, remember_claims
from flockwise.strategies.strategy import MEAN, strategy

Weights = Annotated[
    Literal["equal", "size"], "how members count in a centre's mean; size: by their samples (WeCFL)"
]


@strategy("k-means of the newest models, every round", "Xie et al., WWWJ 2023", example={"weights": "size"})
def fesem(
    *, rule: Rule = MEAN, flocks: Annotated[Count, AtMostClients(), "k: how many centres"] = 2, weights: Weights = "equal"
) -> Method:  # fmt: skip
    """k centres among the clients' models."""
    by_size = weights == "size"
    return Method(
        chain(
            train(sample_from_all),
            latest_models.remember,
            remember_claims if by_size else nothing,
            find_flocks(latest_models, NearestCentre(flocks)),  # E-step
            average_known(rule, latest_models, by_claims if by_size else None),  # M-step
            place(),
        )
    )
