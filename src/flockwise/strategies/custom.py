"""Any combination of pieces, straight from the config: the methods no paper has tried."""

from functools import partial
from typing import Annotated, Any, Literal

from flockwise.aggregation import Rule
from flockwise.options import Count, NonNegative, Positive
from flockwise.stages import Every, Joint, Method, WhenStable, all_go_on, average, average_groups, average_known, chain
from flockwise.stages import everyone, find_flocks, judge_flocks, keep_snapshots, largest_goes_on, latest_models
from flockwise.stages import nothing, once, one_model_goes_on, place as place_clients, restart_from_sent, roll_back
from flockwise.stages import sample, sample_from_all, split_flocks, train, when as if_time
from flockwise.stages.judging import JudgeAfter, JudgeName, JudgeRatio
from flockwise.stages.place import Follow
from flockwise.stages.relabel import inherited
from flockwise.stages.rollback import RollBack, SnapshotEvery
from flockwise.strategies.choices import Clustering, Similarity, grouping_of, serving_of, source_of, together
from flockwise.strategies.strategy import MEAN, strategy


@strategy("any combination of pieces from the config")
def custom(
    *,
    rule: Rule = MEAN,
    evidence: Annotated[
        Literal["this-round", "latest-updates", "latest-models", "metadata"], "what clients are compared on"
    ] = "latest-updates",
    max_age: Annotated[Count | None, "latest-updates: ignore older ones"] = None,
    similarity: Similarity = "cosine",
    power: Annotated[Positive, "exponent on the similarities"] = 1.0,
    clustering: Clustering = "louvain",
    clustering_parameters: Annotated[dict[str, Any], "as `flockwise list clusterers` shows them"] = {},  # noqa: B006
    min_separation: Annotated[NonNegative, "flocks less apart than this are not acted on; 0: always"] = 0.0,
    when: Annotated[Literal["never", "once", "every", "stable"], "stable: once flocks stop changing"] = "once",
    first: Annotated[Count, "once, every: the first round in which flocks are looked for"] = 5,
    every: Annotated[Count, "every: rounds from one look to the next"] = 1,
    census: Annotated[bool, "all clients train in the rounds in which flocks are looked for"] = False,
    patience: Annotated[Count, "stable: rounds the flocks must stay the same"] = 5,
    scope: Annotated[Literal["all", "within"], "compare all clients anew, or split inside each flock"] = "all",
    start: Annotated[
        Literal["joint", "own"], "new flocks start from the model after this round, or each from its own mean of it"
    ] = "joint",
    keep: Annotated[Literal["all", "largest"], "within: go on with all parts, or set all but the largest apart"] = "all",
    attribution: Annotated[
        Literal["flock", "one-model", "avg", "1nn", "wnn"], "its flock's model, one for all, or as in communities"
    ] = "flock",
    group_weights: Annotated[Literal["equal", "size"], "one-model: how groups count"] = "equal",
    aggregate: Annotated[Literal["this-round", "known"], "replies, or the newest models of all known"] = "this-round",
    place: Annotated[Literal["validation", "largest"], "clients without a flock: where they do best"] = "validation",
    follow: Follow = None,
    judge: JudgeName = "none",
    judge_after: JudgeAfter = None,
    judge_ratio: JudgeRatio = 0.5,
    rollback: RollBack = False,
    snapshot_every: SnapshotEvery = 5,
) -> Method:
    """The method these choices make."""
    whole = together(rule, when, scope, keep, evidence, aggregate, attribution)  # refuses what would be ignored
    source, remember = source_of("latest-models" if whole else evidence, max_age)
    serve = serving_of(attribution, evidence)
    begin = one_model_goes_on if attribution == "one-model" else inherited
    schedule = WhenStable(patience) if when == "stable" else once(first) if when == "once" else Every(first, every)
    step = average(rule)
    if attribution == "one-model":
        step = average_groups(rule, group_weights, wait=False)
    elif whole:
        step = average_known(rule, latest_models)
    look = nothing
    if when != "never":
        groups = grouping_of(evidence, similarity, power, clustering, clustering_parameters, min_separation)
        part = largest_goes_on if keep == "largest" else partial(all_go_on, begin=begin)
        inside = scope == "within"
        look = split_flocks(source, groups, part, schedule) if inside else find_flocks(source, groups, schedule, begin)
    before = chain(remember, keep_snapshots(rollback, snapshot_every))
    usual = chain(train(sample if attribution == "flock" else sample_from_all, serve), before)
    usual = chain(usual, step, look) if start == "joint" else chain(usual, look, step)
    if census and when in ("once", "every"):
        alone = chain(look) if start == "joint" else chain(restart_from_sent, look, step)
        usual = if_time(schedule, chain(train(everyone, Joint(serve)), before, alone), otherwise=usual)
    ends = chain(roll_back(rollback), judge_flocks(judge, judge_after, judge_ratio))
    asks = place == "validation" and attribution == "flock"
    return Method(chain(usual, ends, place_clients(follow) if asks else nothing), serve=serve)
