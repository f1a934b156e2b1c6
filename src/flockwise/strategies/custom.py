"""Any combination of pieces, straight from the config: the methods no paper has tried."""

from typing import Annotated

from flockwise.aggregation import Rule
from flockwise.notes import AtRound, Only
from flockwise.options import Count, NonNegative, Positive
from flockwise.stages import choices, guards
from flockwise.stages.method import Method
from flockwise.stages.stage import chain
from flockwise.strategies.strategy import MEAN, strategy

COMPARING, TIMED = Only(when=choices.LOOKS, evidence=choices.COMPARED), Only(when=("once", "every"))
EXAMPLE = {"when": "every", "first": 2, "every": 2, "follow": 0.1}


@strategy("any combination of pieces from the config", example=EXAMPLE)
def custom(
    *,
    rule: Rule = MEAN,
    evidence: choices.Evidence = "latest-updates",
    max_age: choices.MaxAge = None,
    similarity: choices.Similarity = "cosine",
    power: Annotated[Positive, COMPARING, "exponent on the similarities"] = 1.0,
    clustering: choices.Clustering = "louvain",
    clustering_parameters: choices.ClusteringParameters = {},  # noqa: B006
    min_separation: Annotated[NonNegative, COMPARING, "flocks less apart are not acted on; 0: always"] = 0.0,
    when: choices.When = "once",
    first: Annotated[
        Count, AtRound(), TIMED, "once, every: the first round in which flocks are looked for"
    ] = 5,
    every: Annotated[Count, Only(when="every"), "every: rounds from one look to the next"] = 1,
    census: Annotated[bool, TIMED, "all clients train in the rounds in which flocks are looked for"] = False,
    patience: Annotated[Count, Only(when="stable"), "stable: rounds the flocks must stay the same"] = 5,
    scope: choices.Scope = "all",
    start: choices.Start = "joint",
    keep: choices.Keep = "all",
    attribution: choices.Attribute = "flock",
    group_weights: choices.GroupWeights = "equal",
    aggregate: choices.Aggregate = "this-round",
    place: choices.Place = "validation",
    follow: guards.Follow = None,
    judge: guards.JudgeName = "none",
    judge_after: guards.JudgeAfter = None,
    judge_ratio: guards.JudgeRatio = 0.5,
    rollback: guards.RollBack = False,
    snapshot_every: guards.SnapshotEvery = 5,
) -> Method:
    """The method these choices make."""
    whole = choices.together(when, scope, keep, evidence, aggregate, attribution)
    timing = choices.timing_of(when, first, every, patience)
    source, remember = choices.source_of("latest-models" if whole else evidence, max_age, timing)
    serve = choices.serving_of(attribution, evidence)
    step = choices.step_of(rule, attribution, group_weights, whole)
    look = None
    if timing is not None:
        cluster = (clustering, clustering_parameters)
        groups = choices.grouping_of(evidence, similarity, power, *cluster, min_separation)
        look = choices.look_of(source, groups, timing, scope, keep, attribution)
    watched = chain(guards.watch_flocks(judge), step)
    per_flock = attribution == "flock"
    newcomers = choices.newcomers_of(source, similarity, timing, scope, census, per_flock)
    usual = choices.round_of(serve, remember, watched, look, timing, start, census, per_flock, newcomers)
    placing = choices.placing_of(place, per_flock)
    ends = guards.at_the_end(follow, judge, judge_after, judge_ratio, rollback, snapshot_every, placing)
    return Method(chain(usual, ends), serve=serve)
