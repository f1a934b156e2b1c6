"""Shepherd"""

from typing import Annotated

from flockwise.aggregation import Rule, geometric_median
from flockwise.clustering import louvain
from flockwise.options import Count
from flockwise.similarity import one_plus_cosine
from flockwise.stages.average import average
from flockwise.stages.course import Courses
from flockwise.stages.grouping import Clustered, Nested
from flockwise.stages.judging import judge_flocks
from flockwise.stages.method import Method
from flockwise.stages.parole import Parole, parole, probation
from flockwise.stages.place import Follow, place
from flockwise.stages.regroup import all_go_on, split_flocks
from flockwise.stages.sampling import sample
from flockwise.stages.schedule import Every
from flockwise.stages.separation import beyond_noise
from flockwise.stages.stage import chain
from flockwise.stages.train import train
from flockwise.strategies.strategy import strategy

ROBUST: Rule = geometric_median()
JUDGED = 5  # rounds from one sitting of the judge to the next
FEWEST = 8  # clients of a flock that may be split so


@strategy(
    "flocks, a robust rule inside them, a watch and a way back: when nothing is known",
    example={"first": 2},
)
def shepherd(
    *,
    rule: Rule = ROBUST,
    first: Annotated[Count, "the first round in which flocks are looked for"] = 2,
    follow: Follow = 0.2,
    parole_after: Parole = 20,
) -> Method:
    """Find flocks once they are clear, guard them, and let nobody be lost."""
    courses = Courses()
    kinds = Nested(
        Clustered(
            one_plus_cosine, lambda graph, seed: louvain(graph, seed=seed), takes="similarity", min_separation=beyond_noise,
            fewest=FEWEST, centred=True,
        )
    )  # fmt: skip
    return Method(
        chain(
            train(sample),
            courses.keep,
            split_flocks(courses, kinds, all_go_on, Every(first)),
            probation(parole_after),
            average(rule),
            judge_flocks("validation", JUDGED),
            parole(parole_after),
            place(follow, rest=JUDGED + 1),
        )
    )
