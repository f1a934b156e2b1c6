"""Communities: two super-classes found from the models, every attribution runs, newcomers get the global model."""

import numpy as np
import pytest
from tests.strategies.playing import play

SUPER = {
    "name": "majority_class", "clients": 10, "majority": 0.7,
    "super_classes": [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]],
}  # fmt: skip


def test_1nn_trains_a_better_model_than_avg_where_groups_differ():
    near = play(rounds=10, strategy={"name": "communities", "attribution": "1nn"})
    one = play(rounds=10, strategy={"name": "communities", "attribution": "avg"})
    assert near.ari == 1.0
    assert near.mean_accuracy > one.mean_accuracy + 0.1


@pytest.mark.parametrize("attribution", ["1nn", "avg"])
def test_two_super_classes_are_found(attribution):
    """Seven of ten samples from the labels of one's own super-class."""
    split = {"name": "noniid_degree", "clients": 12, "groups": 2, "degree": 0.7}
    game = play(rounds=8, split=split, strategy={"name": "communities", "attribution": attribution})
    assert game.ari == 1.0


@pytest.mark.parametrize("attribution", ["avg", "1nn", "wnn", "late"])
def test_every_attribution_runs_and_measures_its_communities_every_round(attribution):
    game = play(
        rounds=8, split=SUPER, strategy={"name": "communities", "attribution": attribution, "late_from": 5}
    )
    looked = [r for r in game.records if "modularity" in r.facts]
    assert len(looked) == (5 if attribution == "late" else 8)
    assert all(np.isfinite(r.facts["modularity"]) for r in looked)
    assert all("silhouette" in r.facts for r in looked)
    assert game.mean_accuracy > 0.5


def test_late_keeps_its_communities_from_its_round_on():
    game = play(rounds=9, strategy={"name": "communities", "attribution": "late", "late_from": 4})
    fixed = [record.arrays["flock"].tolist() for record in game.records[3:]]
    assert all(labels == fixed[0] for labels in fixed)


def test_a_newcomer_is_sent_the_global_model():
    game = play(
        rounds=4, strategy={"name": "communities", "attribution": "1nn"},
        faults={"late_clients": 2, "late_round": 9},
    )  # fmt: skip
    models, rows = game.server.assignment()
    late = sorted(game.parts.hazards.channel.late)
    assert rows[late].tolist() == [0, 0]
    alive = np.unique(game.labels[game.labels >= 0])
    expected = game.server.state.models[alive].mean(axis=0, dtype=np.float64)
    np.testing.assert_allclose(models[0], expected, rtol=1e-5, atol=1e-6)


def test_krum_inside_communities():
    game = play(rounds=6, strategy={"name": "communities"}, aggregation={"name": "krum", "attackers": 1})
    assert game.server.state.flocks > 1 and game.mean_accuracy > 0.6


def test_a_rule_that_needs_the_servers_own_update_is_refused():
    from flockwise.errors import ConfigError

    with pytest.raises(ConfigError, match="averages whole models"):
        play(
            rounds=1, strategy={"name": "communities"}, aggregation={"name": "fltrust"}, root={"samples": 50}
        )
