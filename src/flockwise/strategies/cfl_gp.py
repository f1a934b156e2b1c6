"""CFL-GP, clustering by accumulated gradients (Kim, Kim and de Veciana, ICML 2024, Algorithm 1).

Every `every` rounds, until round `last`, all clients train one and the same of the k models besides their own, each
model in its turn. A client's profile is the mean of its updates of each model. Spectral clustering, that is k-means on the k
leading singular directions of the profiles, gives the flocks; flocks keep their numbers as far as members stay. Since
updates add up over rounds and models, noise averages out. Then FedAvg inside each flock. It assumes that k is known, and
that all clients can be reached in those rounds.

Where we differ: clients send what a whole round of local training did to the model in turn (the authors' code: one
gradient, if wanted projected at random to fewer numbers). Numbers are matched greedily by overlap, not over all
permutations. A client without a profile has the largest flock's model until its validation data place it.
"""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.notes import AtMostClients, Shapes
from flockwise.options import Count
from flockwise.stages import Every, Method, average, chain, everyone, find_flocks, place, sample, train, when
from flockwise.stages.profiles import Profiles, Spectral
from flockwise.strategies.strategy import MEAN, strategy


@strategy(
    "spectral clustering of accumulated updates", "Kim et al., ICML 2024", example={"every": 2, "last": 6}
)
def cfl_gp(
    *,
    rule: Rule = MEAN,
    flocks: Annotated[Count, AtMostClients(), Shapes("profiles"), "k: how many flocks"] = 2,
    every: Annotated[Count, "rounds from one look to the next"] = 2,
    last: Annotated[Count, "the last round in which flocks are looked for"] = 10,
) -> Method:
    """Profiles in some rounds, FedAvg inside flocks in all."""
    profiles, look = Profiles(flocks, every), Every(1, every, last)
    census = chain(
        train(everyone, profiles), profiles.remember, find_flocks(profiles, Spectral(flocks), look)
    )
    return Method(chain(when(look.looks, census), train(sample), average(rule), place()))
