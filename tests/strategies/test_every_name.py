"""Everything that is advertised runs: every strategy with every rule and lost replies, every name in every list."""

import inspect

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.aggregation import PRE_AGGREGATIONS, RULES
from flockwise.attacks import ATTACKS
from flockwise.clustering import CLUSTERERS
from flockwise.errors import ConfigError
from flockwise.similarity import SIMILARITIES
from flockwise.splits import SPLITS
from flockwise.stages import FREE, UNPLACED
from flockwise.strategies import STRATEGIES

SMALL = {
    "rounds": 5, "split": {"name": "label_swap", "clients": 12, "groups": 3, "samples": 40},
    "model": {"name": "softmax"}, "training": {"epochs": 1, "batch_size": 20, "learning_rate": 0.1},
}  # fmt: skip


def options_of(piece):
    """What a config needs to say to try a piece: its own example, without what the run provides."""
    return {name: value for name, value in (piece.example or {}).items() if name not in piece.given}


def takes_rule(strategy):
    return "rule" in inspect.signature(STRATEGIES[strategy].function).parameters


def check_partition(game):
    for record in game.records:
        labels, apart = record.arrays["flock"], record.arrays["apart"]
        assert (labels >= UNPLACED).all()
        assert (labels[apart != FREE] == UNPLACED).all()
        assert record.facts["flocks"] == len(np.unique(labels[labels != UNPLACED]))
    assert np.isfinite(game.server.state.models).all()


@pytest.mark.parametrize("rule", list(RULES))
@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_every_strategy_runs_with_every_rule_and_lost_replies(strategy, rule):
    if RULES[rule].wants & {"root", "memory"} and strategy in ("communities", "fesem"):
        pytest.skip("refused: it averages models, not updates (tested with that strategy)")
    if not takes_rule(strategy) and rule != "mean":
        with pytest.raises(
            ConfigError, match=rf"aggregation.name: {strategy} has a rule of its own; leave it out"
        ):
            play(**SMALL, strategy={"name": strategy}, aggregation={"name": rule, **options_of(RULES[rule])})
        return
    deep = {"model": {"name": "mlp", "hidden": 8}}  # for methods that keep a model's last layer
    if "model" in (STRATEGIES[strategy].start or {}):  # or that need one of a kind
        deep = {"model": {**STRATEGIES[strategy].start["model"], "of": "softmax"}}
    game = play(
        **{**SMALL, **deep}, faults={"dropout": 0.3}, root={"samples": 60},
        strategy={"name": strategy, **options_of(STRATEGIES[strategy])},
        aggregation={"name": rule, "attackers": 1, **options_of(RULES[rule])},
    )  # fmt: skip
    check_partition(game)
    assert any(not record.arrays["trained"].all() for record in game.records)


@pytest.mark.parametrize("name", list(PRE_AGGREGATIONS))
def test_every_pre_aggregation_runs(name):
    check_partition(play(**SMALL, aggregation={"name": "median", "attackers": 2, "before": [name]}))


@pytest.mark.parametrize("name", list(ATTACKS))
def test_every_attack_runs(name):
    game = play(
        **{**SMALL, "split": {"name": "iid", "clients": 10, "samples": 40}},
        attack={"name": name, "clients": 2, **options_of(ATTACKS[name])},
        strategy={"name": "flic", "warmup": 2, "judge": "validation"},
    )
    check_partition(game)
    assert len(game.attackers) == 2


@pytest.mark.parametrize("name", [name for name, piece in SPLITS.items() if piece.example is not None])
def test_every_split_runs(name):
    check_partition(
        play(
            **{**SMALL, "rounds": 3, "split": {"name": name, "clients": 10, **options_of(SPLITS[name])}},
            strategy={"name": "flic"},
        )
    )


@pytest.mark.parametrize("similarity", list(SIMILARITIES))
@pytest.mark.parametrize("clusterer", list(CLUSTERERS))
def test_every_similarity_goes_with_every_clusterer(clusterer, similarity):
    strategy = {
        "name": "custom",
        "when": "every",
        "first": 2,
        "similarity": similarity,
        "clustering": clusterer,
    }
    check_partition(play(**{**SMALL, "rounds": 4}, strategy=strategy))


@pytest.mark.parametrize(
    "choices",
    [
        {
            "evidence": "this-round",
            "clustering": "bipartition",
            "scope": "within",
            "start": "own",
            "keep": "largest",
        },
        {"evidence": "latest-models", "similarity": "trusted", "attribution": "1nn", "when": "every"},
        {"attribution": "avg", "when": "every"},
        {"attribution": "wnn", "aggregate": "known", "when": "every"},
        {"attribution": "one-model", "group_weights": "size"},
        {"evidence": "metadata", "attribution": "one-model"},
        {"evidence": "metadata"},
        {"when": "stable", "patience": 1},
        {"when": "never"},
        {"census": True, "when": "every", "every": 2, "evidence": "this-round", "follow": 0.1},
        {"place": "largest", "judge": "largest"},
        {"max_age": 2, "when": "every", "power": 3.0, "min_separation": 1.0},
    ],
    ids=lambda choices: ",".join(f"{key}={value}" for key, value in choices.items()),
)
def test_custom_takes_any_combination(choices):
    split = {"name": "noniid_degree", "clients": 12, "samples": 20}
    soon = {"first": 2} if choices.get("when", "once") in ("once", "every") else {}
    check_partition(play(**{**SMALL, "split": split}, strategy={"name": "custom", **soon, **choices}))
