"""Shepherd: the method to take when nothing is known: not how many kinds of clients there are, nor whether any lie.

Ours, put together from what held best against attackers that know the defence (measured in docs/methods/shepherd.md):

- flocks as FLIC finds them, by Louvain on the newest updates, acted on when they have stopped changing and are further
  apart than noise: the number need not be known, and clients of one kind stay together;
- then every flock is looked into in every round, and split where its clients are of two kinds: kinds that differ less than
  others show only once those have models of their own;
- inside flocks the geometric median, which needs no number of attackers, is moved little by fewer than half of a flock,
  and, unlike the median, costs clients with few labels little;
- flocks are watched in every round, and whoever turns against the others has a flock of its own before anything is averaged;
- a flock is hostile if its own members say that its model is bad and that another would serve them far better, never for
  being small; flocks may start from a model of before the damage;
- nobody is lost for good: who was set apart may try again, each time after twice as long, and has to look like the others;
- newcomers are placed, and clients whose data change are moved, by their own validation data.
"""

from typing import Annotated

from flockwise.aggregation import Rule, geometric_median
from flockwise.clustering import louvain
from flockwise.options import Count
from flockwise.similarity import one_plus_cosine
from flockwise.stages.average import average
from flockwise.stages.evidence import LatestUpdates, this_round
from flockwise.stages.grouping import Clustered
from flockwise.stages.judging import AfterFound, judge_flocks, watch_flocks
from flockwise.stages.method import Method
from flockwise.stages.parole import Parole, parole, probation
from flockwise.stages.place import Follow, place
from flockwise.stages.regroup import all_go_on, find_flocks, split_flocks
from flockwise.stages.rollback import keep_snapshots, roll_back
from flockwise.stages.sampling import sample
from flockwise.stages.schedule import WhenStable
from flockwise.stages.stage import chain
from flockwise.stages.train import train
from flockwise.strategies.strategy import strategy

ROBUST: Rule = geometric_median()
JUDGED = 5  # rounds from one sitting of the judge to the next
SURE = 3.0  # separation at which a flock is split in two kinds; noise alone makes 1 to 3
FEWEST = 6  # clients of a flock that may be split so
WATCHED = 4  # times patience: from this round on, also where no flocks were found


@strategy(
    "flocks, a robust rule inside them, a watch and a way back: when nothing is known",
    example={"patience": 2},
)
def shepherd(
    *,
    rule: Rule = ROBUST,
    patience: Annotated[Count, "rounds the flocks must stay the same before they are acted on"] = 3,
    follow: Follow = 0.2,
    parole_after: Parole = 20,
) -> Method:
    """Find flocks once they are clear, guard them, and let nobody be lost."""
    newest = LatestUpdates()
    communities = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity", min_separation=1.0, refine=3.0
    )  # fmt: skip
    kinds_inside = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity", min_separation=SURE,
        fewest=FEWEST,
    )  # fmt: skip
    return Method(
        chain(
            train(sample),
            newest.remember,
            watch_flocks("validation", WATCHED * patience),
            probation(parole_after),
            average(rule),
            find_flocks(newest, communities, WhenStable(patience)),
            split_flocks(this_round, kinds_inside, all_go_on, AfterFound()),
            keep_snapshots(True),
            roll_back(True),
            judge_flocks("validation", JUDGED),
            parole(parole_after),
            place(follow, rest=JUDGED + 1),
        )
    )
