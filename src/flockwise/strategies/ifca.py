"""IFCA, the iterative federated clustering algorithm (Ghosh et al., NeurIPS 2020).

The server keeps k models and sends all of them to every client of the round; a client trains the one with
the lowest loss on its TRAINING data, and each model is averaged over those who picked it. It assumes that k
is known, and that the random beginnings differ enough to pull the kinds of clients apart; where they do not, try
`restarts`: that many sets of models train in turn for `probe` rounds each, and the set with the lowest training loss
goes on. `warm_start` rounds of plain FedAvg come first; the models then differ from it by a little noise.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.notes import AtMostClients, AtRound
from flockwise.options import Count, Natural, Positive
from flockwise.stages import Method, average, chain, sample_from_all, train
from flockwise.stages.restarts import Restarts
from flockwise.strategies.strategy import MEAN, strategy


@strategy(
    "k models; each client picks by training loss", "Ghosh et al., NeurIPS 2020",
    example={"flocks": 2, "restarts": 2, "probe": 2, "warm_start": 1},
)  # fmt: skip
def ifca(
    *,
    rule: Rule = MEAN,
    flocks: Annotated[Count, AtMostClients(), "k: how many models"] = 2,
    restarts: Annotated[Count, "sets of random beginnings to try"] = 1,
    probe: Annotated[Count, "rounds each set is tried for"] = 5,
    warm_start: Annotated[Natural, AtRound(1), "rounds of plain FedAvg first"] = 0,
    noise: Annotated[Positive, "warm start: relative size of the noise that sets models apart"] = 0.01,
) -> Method:
    """k models; each client trains the one that fits it best."""
    choice = Restarts(flocks, restarts, probe, warm_start, noise)
    rounds = chain(train(sample_from_all, choice), choice.keep_score, average(rule), choice.spread)
    return Method(rounds, serve=choice, models=flocks * restarts)
