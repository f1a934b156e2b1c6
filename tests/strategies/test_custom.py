"""Combinations that no paper tried: what they promise, and what is refused because it would be ignored."""

from itertools import pairwise

import numpy as np
import pytest
from tests.strategies.playing import play

from flockwise.config import parse_config
from flockwise.errors import ConfigError, PluginError

SMALL = {
    "model": {"name": "softmax"},
    "sampling": {"fraction": 0.5},
    "split": {"name": "iid", "clients": 12, "samples": 40},
    "training": {"epochs": 1, "batch_size": 20, "learning_rate": 0.1},
}


def test_watching_flocks_does_not_touch_the_one_model():
    watching = {
        "name": "custom",
        "when": "every",
        "first": 1,
        "attribution": "one-model",
        "group_weights": "size",
        "clustering": "agglomerative",
        "clustering_parameters": {"flocks": 3, "linkage": "average"},
    }
    watched = play(**SMALL, rounds=10, strategy=watching)
    plain = play(**SMALL, rounds=10, strategy={"name": "fedavg"})
    flocks = [record.arrays["flock"].tolist() for record in watched.records]
    assert sum(one != other for one, other in pairwise(flocks)) > 2, "flocks keep changing"
    assert np.allclose(watched.server.state.models[0], plain.server.state.models[0], atol=1e-5)


def test_a_power_changes_distances_too():
    strategy = {"name": "custom", "similarity": "cosine", "clustering": "agglomerative", "when": "once", "first": 3,
                "clustering_parameters": {"linkage": "average", "threshold": 1.2}}  # fmt: skip
    found = [
        play(rounds=3, strategy={**strategy, "power": power}).server.state.flocks for power in (1.0, 4.0)
    ]
    assert found[0] < found[1], "with a power, the same threshold is less"


@pytest.mark.parametrize(
    "choices, message",
    [
        ({"when": "stable", "scope": "within"}, "strategy.when = 'stable': needs scope = 'all'"),
        ({"evidence": "metadata", "aggregate": "known"}, "strategy.evidence = 'metadata'"),
        ({"evidence": "this-round", "attribution": "1nn"}, "strategy.evidence = 'this-round'"),
        (
            {"clustering": "agglomerative", "clustering_parameters": {"link": 1}},
            "strategy.clustering_parameters.link = 1: unknown key; did you mean 'linkage'",
        ),
        (
            {"clustering": "bipartition", "clustering_parameters": {"x": 1}},
            "strategy.clustering_parameters.x = 1: unknown key; known are cohesion, decay",
        ),
        ({"clustering": "sklearn.cluster:DBSCAN", "clustering_parameters": {"epss": 1}}, "epss"),
        ({"clustering": "bipartition", "min_separation": 1.0}, "strategy.min_separation = 1"),
        ({"similarity": "l9", "clustering": "bipartition"}, "no 'l9'"),
        ({"keep": "largest"}, "strategy.keep = 'largest': needs scope = 'within'"),
        ({"census": True, "when": "stable"}, "strategy.census = True: does nothing with when = 'stable'"),
        ({"census": True, "when": "never"}, "strategy.census = True: does nothing with when = 'never'"),
        (
            {"evidence": "metadata", "clustering": "leiden"},
            "strategy.clustering = 'leiden': does nothing with evidence",
        ),
        (
            {"evidence": "metadata", "similarity": "l2"},
            "strategy.similarity = 'l2': does nothing with evidence",
        ),
        (
            {"evidence": "metadata", "clustering_parameters": {"resolution": 2.0}},
            "clustering_parameters = .*: does nothing",
        ),
        (
            {"group_weights": "size"},
            "group_weights = 'size': does nothing with attribution = 'flock'; leave it out, or "
            "choose attribution = 'one-model'",
        ),
        (
            {"evidence": "this-round", "max_age": 3},
            "strategy.max_age = 3: does nothing with evidence = 'this-round'",
        ),
        ({"attribution": "1nn", "max_age": 3}, "strategy.max_age = 3: does nothing with attribution = '1nn'"),
        ({"when": "never", "every": 3}, "strategy.every = 3: does nothing with when = 'never'"),
        ({"when": "once", "every": 3}, "strategy.every = 3: does nothing with when = 'once'"),
        ({"when": "stable", "first": 3}, "strategy.first = 3: does nothing with when = 'stable'"),
        ({"when": "never", "scope": "within"}, "strategy.scope = 'within': does nothing with when = 'never'"),
    ],
)
def test_what_would_be_ignored_is_refused(choices, message):
    with pytest.raises((ConfigError, PluginError), match=message):
        play(rounds=1, strategy={"name": "custom", **choices})


def test_what_stands_at_its_default_is_taken_whatever_the_others_are():
    """Configs are written in full."""
    for choices in ({"when": "never"}, {"when": "stable"}, {"evidence": "metadata"}, {"attribution": "avg"}):
        content = parse_config({"strategy": {"name": "custom", **choices}}).written()
        assert parse_config(content).written() == content


def test_the_servers_own_update_says_nothing_about_whole_models():
    with pytest.raises(ConfigError, match="averages whole models"):
        play(rounds=1, strategy={"name": "custom", "attribution": "avg"}, aggregation={"name": "fltrust"},
             root={"samples": 50})  # fmt: skip


def test_reports_that_carry_nothing_leave_one_flock():
    game = play(rounds=4, strategy={"name": "custom", "evidence": "metadata", "first": 2})
    assert game.server.state.flocks == 1 and game.mean_accuracy > 0.3
    assert any("nothing is known" in event.message for _, event in game.events("alike"))
