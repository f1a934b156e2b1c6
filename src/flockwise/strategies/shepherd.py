"""Shepherd: the method to take when nothing is known: not how many kinds of clients there are, nor whether any lie.

Ours, put together from what was measured to hold (docs/methods/shepherd.md):

- what is known of a client is its course: the mean direction of its updates of late. The noise of single rounds averages
  out, so kinds show within two or three rounds, at any learning rate, and need not be as many as anybody said;
- every flock is looked into in every round, from the one that all begin in, and split by Louvain where the courses of its
  clients, seen from their mean, are further apart than noise makes them; then the parts are looked into by themselves. Parts
  that are too near are looked into before they are given up: kinds that are alike in groups hide each other;
- an update that points against its client's own course does not count. Nobody else is needed to tell, so it holds late in
  training, when the updates of honest clients no longer agree. Who clearly does so again and again has a flock of its own;
- inside flocks the mean, with the longest updates shortened to the length of the next (adaptive clipping): nobody is louder
  than a third of the others, and unlike a median it costs clients with few labels or samples little;
- a flock is hostile if its own members say that its model is bad and that another would serve them far better, never for
  being small;
- nobody is lost for good: who was set apart may try again, each time after twice as long, and has to look like the others;
- newcomers are placed, and clients whose data change are moved, by their own validation data;
- who moves is on trial: it counts once it has gone along with the others for a few rounds, twice as many after each move;
- whom it serves better, by its own validation data, has the flock's model one step further along its own course.
"""

from typing import Annotated

from flockwise.aggregation import Rule, mean
from flockwise.clustering import louvain
from flockwise.notes import AtRound
from flockwise.options import Count
from flockwise.similarity import one_plus_cosine
from flockwise.stages.average import average
from flockwise.stages.course import Courses
from flockwise.stages.grouping import Clustered, Nested
from flockwise.stages.judging import judge_flocks
from flockwise.stages.method import Method
from flockwise.stages.own_step import OwnStep
from flockwise.stages.parole import Parole, parole, probation
from flockwise.stages.place import Follow, place
from flockwise.stages.regroup import all_go_on, split_flocks
from flockwise.stages.sampling import sample
from flockwise.stages.separation import beyond_noise
from flockwise.stages.stage import chain
from flockwise.stages.timing import Every
from flockwise.stages.train import train
from flockwise.stages.trial import Trial
from flockwise.strategies.strategy import strategy

ROBUST: Rule = mean(attackers=0.3, before=["adaptive-clipping"])
JUDGED = 5  # rounds from one sitting of the judge to the next
FEWEST = 8  # clients of a flock that may be split by kinds


@strategy(
    "flocks of unknown number, a robust rule inside them, a watch and a way back: when nothing is known",
    example={"first": 3},
)
def shepherd(
    *,
    rule: Rule = ROBUST,
    first: Annotated[Count, AtRound(), "the first round in which flocks are looked for"] = 2,
    follow: Follow = 0.2,
    parole_after: Parole = 20,
) -> Method:
    """Find flocks as soon as they are clear, guard them, and let nobody be lost."""
    courses, own = Courses(), OwnStep(every=JUDGED)
    trial = Trial(courses)
    communities = Clustered(
        one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity",
        min_separation=beyond_noise, fewest=FEWEST, centred=True, hidden=True,
    )  # fmt: skip
    return Method(
        chain(
            train(sample),
            courses.keep,  # what points against its client's own past is left out
            probation(parole_after),
            split_flocks(courses, Nested(communities), all_go_on, Every(first)),
            trial.hold_back,
            average(rule),
            judge_flocks("validation", JUDGED),
            parole(parole_after),
            trial.of_movers(place(follow, rest=JUDGED + 1)),
            own.choose,
        ),
        serve=own,
    )
