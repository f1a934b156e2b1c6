"""Every built-in piece passes the batteries that plug-in authors use."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans

from flockwise.aggregation import PRE_AGGREGATIONS, RULES, Rule
from flockwise.attacks import ATTACKS
from flockwise.clustering import CLUSTERERS
from flockwise.errors import PluginError
from flockwise.similarity import SIMILARITIES
from flockwise.splits import SPLITS
from flockwise.stages import Method, Round, average, chain, stage, train
from flockwise.stages.stage import REPLIES
from flockwise.strategies import MEAN, STRATEGIES
from flockwise.tasks import TASKS
from flockwise.testing import (
    AggregatorBattery,
    AttackBattery,
    ClustererBattery,
    PreAggregationBattery,
    SimilarityBattery,
    SplitBattery,
    StrategyBattery,
    TaskBattery,
)

KINDS = {
    AggregatorBattery: RULES,
    AttackBattery: ATTACKS,
    ClustererBattery: CLUSTERERS,
    PreAggregationBattery: PRE_AGGREGATIONS,
    SimilarityBattery: SIMILARITIES,
    SplitBattery: SPLITS,
    StrategyBattery: STRATEGIES,
    TaskBattery: TASKS,
}
CASES = [
    (battery, name)
    for kind in KINDS
    for battery in kind.each()
    for name in dir(battery)
    if name.startswith("test_")
]


def run(battery: type, test: str) -> None:
    function = getattr(battery(), test)
    values = [mark.args[1] for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    for value in values[0] if values else [None]:
        function(value) if values else function()


@pytest.mark.parametrize(("battery", "test"), CASES, ids=[f"{b.__name__}-{t}" for b, t in CASES])
def test_built_in_pieces_pass_their_battery(battery: type, test: str) -> None:
    run(battery, test)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_registered_piece_has_a_battery_unless_it_says_otherwise(kind: type) -> None:
    tried = [name for name, piece in KINDS[kind].items() if piece.example is not None]
    assert [battery.__name__ for battery in kind.each()] == [
        f"{kind.__name__}_{name.replace('-', '_')}" for name in tried
    ]
    # Two splits go with data that says whose each sample is, which the batteries' data do not; one of any other kind.
    assert len(tried) >= len(KINDS[kind]) - (2 if kind is SplitBattery else 1)


@pytest.mark.parametrize(
    "given",
    [
        {"cluster": DBSCAN, "parameters": {"eps": 9.0, "min_samples": 2, "metric": "precomputed"}},
        {"cluster": KMeans(3, n_init=5, random_state=0)},
        {
            "cluster": staticmethod(lambda away: (away[:, 0] > 9).astype(int)),
            "takes": "distance",
            "most_flocks": 2,
        },
    ],
    ids=["class", "estimator", "function"],
)
def test_the_battery_of_clusterers_takes_all_kinds_of_them(given: dict) -> None:
    battery = type("Own", (ClustererBattery,), given)
    for name in dir(battery):
        if name.startswith("test_"):
            run(battery, name)


def test_a_piece_that_is_wrong_fails() -> None:
    everyone_alone = type(
        "Own", (ClustererBattery,), {"cluster": staticmethod(lambda square: np.arange(len(square)))}
    )
    with pytest.raises(AssertionError):
        everyone_alone().test_finds_flocks_that_are_plainly_there()


def own_strategy(*, rule: Rule = MEAN, factor: float = 1.0) -> Method:
    """FedAvg whose server goes further, or less far, than its clients."""

    def further(round: Round) -> Round:
        before = round.start.models
        moved = before + np.float32(factor) * (round.state.models - before)
        return round.to(replace(round.state, models=moved))

    return Method(chain(train(), average(rule), stage("further", further, [REPLIES])))


@pytest.mark.parametrize("parameters", [None, {"factor": 0.5}], ids=str)
def test_the_battery_of_strategies_takes_any_keyword_function(parameters: dict | None) -> None:
    own = type("Own", (StrategyBattery,), {"strategy": staticmethod(own_strategy), "parameters": parameters})
    for name in dir(own):
        if name.startswith("test_"):
            run(own, name)


def test_a_strategy_that_changes_its_state_in_place_fails() -> None:
    def careless(*, rule: Rule = MEAN) -> Method:
        def shrink(round: Round) -> Round:
            round.state.models[:] *= 0.5
            return round

        return Method(chain(stage("shrink", shrink), train(), average(rule)))

    own = type("Own", (StrategyBattery,), {"strategy": staticmethod(careless)})
    with pytest.raises(AssertionError):
        own().test_a_state_stays_as_it_is_when_later_rounds_are_told()


def test_a_strategy_that_returns_no_method_is_named() -> None:
    own = type("Own", (StrategyBattery,), {"strategy": staticmethod(lambda *, rule=MEAN: "a method")})
    with pytest.raises(PluginError, match="returned str, must be a Method"):
        own().test_a_round_that_nobody_answers_changes_no_model()


def test_a_rule_that_breaks_what_it_says_fails() -> None:
    first = type(
        "Own",
        (AggregatorBattery,),
        {"rule": staticmethod(lambda updates: updates[0].copy()), "refuses": False},
    )
    with pytest.raises(AssertionError):
        first().test_the_order_of_clients_does_not_matter()
    robust = type("Own", (AggregatorBattery,), {"rule": RULES["mean"], "bounded": True})
    with pytest.raises(AssertionError):
        robust().test_a_huge_or_tiny_client_does_not_carry_the_result_away(1e30)
