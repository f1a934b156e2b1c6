"""Clustered federated learning, and its use against Byzantine clients (Sattler et al., ICASSP 2020, Algorithm 1).

Every round, in every cluster, the updates of the clients that took part are split in two where the largest
cosine similarity across is smallest; if that similarity is below a threshold the split is made. `cfl` keeps
both parts; `byzantine_cfl` keeps the larger one and sets the rest apart, which assumes that the honest are
the majority and of one kind.

Where we differ from published code: the split is the exact optimum (a cut of the maximum spanning tree, not
complete linkage), parts keep true client numbers at every depth, and clients that did not take part are
never compared; `cfl` places them by their own validation data. A split also needs `cohesion`: the paper itself
saw benign clients split off late in training, when nobody's updates agree any more.
"""

from typing import Annotated

from pydantic import Field

from flockwise.aggregation import Rule
from flockwise.notes import AtRound
from flockwise.options import Count, NonNegative, Positive
from flockwise.stages import (
    Every,
    Method,
    SplitInTwo,
    all_go_on,
    average,
    chain,
    largest_goes_on,
    place,
    sample,
    split_flocks,
    this_round,
    train,
)
from flockwise.stages.judging import sets_minorities_apart
from flockwise.strategies.strategy import MEAN, strategy

_PAPER = "Sattler et al., ICASSP 2020"
Threshold = Annotated[float, Field(ge=-1, lt=1), "split when alpha_cross is below"]
Decay = Annotated[NonNegative, "threshold / (1 + decay * (round - 1)), as the paper suggests"]
Eps1 = Annotated[Positive | None, "split only if the mean update is shorter than this"]
Eps2 = Annotated[Positive | None, "and the longest update is longer than this"]
Cohesion = Annotated[float, Field(ge=-1, le=1), "least mean similarity in the larger part; -1: no such test"]
First = Annotated[Count, AtRound(), "the first round in which a split is allowed"]


@strategy("recursive bipartition by cosine similarity", _PAPER)
def cfl(
    *, rule: Rule = MEAN, threshold: Threshold = 0.02, decay: Decay = 0.0, eps1: Eps1 = None, eps2: Eps2 = None,
    cohesion: Cohesion = 0.1, first: First = 1,
) -> Method:  # fmt: skip
    """Recursive splits; both parts go on."""
    in_two = SplitInTwo(threshold, decay, eps1, eps2, cohesion)  # l.12-15
    splits = split_flocks(this_round, in_two, all_go_on, Every(first))  # l.11, l.19: for each cluster
    # l.23: the parts are averaged apart in the same round, and everyone counts the same
    return Method(chain(train(sample), splits, average(rule.unweighted()), place()))


@strategy(
    "bipartition; the smaller part is set apart", _PAPER,
    start={"split": {"name": "iid", "clients": 20}, "attack": {"name": "label-to", "clients": 6}},
    warning="an honest minority of another kind is set apart like attackers; use it only where all honest clients are alike",
)  # fmt: skip
def byzantine_cfl(
    *, rule: Rule = MEAN, threshold: Threshold = 0.02, decay: Decay = 0.0, eps1: Eps1 = None, eps2: Eps2 = None,
    cohesion: Cohesion = 0.1, first: First = 1,
) -> Method:  # fmt: skip
    """Recursive splits; only the larger part goes on."""
    in_two = SplitInTwo(threshold, decay, eps1, eps2, cohesion)  # l.12-15
    warned = [sets_minorities_apart("byzantine-cfl")]
    splits = split_flocks(this_round, in_two, largest_goes_on, Every(first), warned)  # l.11, l.17
    return Method(chain(train(sample), splits, average(rule.unweighted())))  # l.23
