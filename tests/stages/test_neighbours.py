from dataclasses import replace

import numpy as np
import pytest

from flockwise.stages import Setting, latest_models
from flockwise.stages.evidence import _LATEST, _Models
from flockwise.stages.neighbours import NearestCommunities
from tests.stages.states import state


def heard_before(models, latest, labels, heard):
    held = _Models.from_arrays({"models": latest, "round": np.array(heard, np.int64)})
    return replace(state(labels, models=3, memory=[(_LATEST, held)]), models=models)


def communities(kind, labels=(0, 0, 1, 1, 2), heard=(1, 1, 1, 1, 1), round=1, **settings):
    """Five clients near the model of their community; the models are apart in every coordinate."""
    rng = np.random.default_rng(0)
    models = rng.normal(size=(3, 40)).astype(np.float32)
    latest = models[np.maximum(labels, 0)] + 0.01 * rng.normal(size=(5, 40)).astype(np.float32)
    base = replace(heard_before(models, latest, labels, heard), round=round)
    return base, NearestCommunities(kind, **settings).assign(base, Setting())


def test_avg_sends_everyone_the_plain_mean_of_the_community_models():
    before, (models, rows) = communities("avg")
    assert np.allclose(models[0], before.models.mean(axis=0), atol=1e-6)
    assert rows.tolist() == [0] * 5


def test_1nn_sends_each_known_client_the_nearest_community_and_a_newcomer_the_global_model():
    before, (models, rows) = communities("1nn", heard=(1, 1, 1, 0, 1))
    assert rows.tolist() == [1, 1, 2, 0, 3]
    assert np.array_equal(models[1:], before.models)


def test_wnn_weights_sum_to_one():
    before = communities("wnn")[0]
    # With every community model the same, a mix whose weights sum to one is that model again.
    same = replace(before, models=np.repeat(before.models[:1], 3, axis=0))
    models, rows = NearestCommunities("wnn").assign(same, Setting())
    assert np.allclose(models[rows], same.models[0], rtol=1e-5)


@pytest.mark.parametrize("beta", [0.1, 1.0, 50.0])
def test_wnn_mixes_lie_between_the_models(beta):
    before, (models, rows) = communities("wnn", beta=beta)
    mixed = models[rows]
    assert (mixed <= before.models.max(axis=0) + 1e-5).all()
    assert (mixed >= before.models.min(axis=0) - 1e-5).all()


def test_a_greater_beta_leans_to_the_own_community():
    before, (models, rows) = communities("wnn", beta=10.0)
    mixed = models[rows]
    away = np.linalg.norm(mixed[:, None] - before.models[None], axis=2)
    assert away.argmin(axis=1).tolist() == before.labels.tolist()


def test_wnn_of_one_neighbour_is_1nn():
    _, (near, near_rows) = communities("1nn")
    _, (mixed, mixed_rows) = communities("wnn", neighbours=1)
    assert np.allclose(mixed[mixed_rows], near[near_rows], atol=1e-6)


def test_late_is_avg_before_its_round_and_the_own_community_after():
    _, (models, rows) = communities("late", round=1, late_from=3)
    assert len(models) == 1 and not rows.any()
    _, (models, rows) = communities("late", labels=(0, 0, 1, 1, -1), round=3, late_from=3)
    assert rows.tolist() == [1, 1, 2, 2, 0]


def test_communities_stand_when_everyone_was_set_apart():
    before = communities("1nn")[0]
    nobody = replace(before, labels=np.full(5, -1), apart=np.ones(5, np.int8))
    models, rows = NearestCommunities("1nn").assign(nobody, Setting())
    assert np.isfinite(models).all() and rows.max() < len(models)


def test_wnn_stands_models_so_deep_that_everything_is_far():
    before = communities("wnn")[0]
    latest, _ = latest_models.of(before)
    deep = heard_before(
        np.tile(before.models, 30), np.tile(latest * 3, 30), before.labels, np.ones(5, np.int64)
    )
    layers = tuple((start, start + 4) for start in range(0, 1200, 4))
    models, rows = NearestCommunities("wnn").assign(deep, Setting(layers=layers))
    assert np.isfinite(models).all()
    assert np.allclose(models[rows], deep.models[deep.labels]), "far away, the nearest alone counts"


def test_soft_weights_are_one_over_the_logarithm_and_let_others_count_where_exp_does_not():
    away = np.array([[51.0, 153.0]])
    models = np.array([[1.0], [0.0]], dtype=np.float32)
    own, other = 1 / np.log1p(51.0), 1 / np.log1p(153.0)
    assert NearestCommunities("wnn", soft=True)._mixed(away, models)[0, 0] == pytest.approx(
        own / (own + other)
    )
    assert NearestCommunities("wnn")._mixed(away, models)[0, 0] == 1.0
    assert NearestCommunities("wnn", soft=True)._mixed(np.array([[0.0, 9.0]]), models)[0, 0] == pytest.approx(
        1.0
    )


def test_soft_weights_sum_to_one():
    before = communities("wnn")[0]
    same = replace(before, models=np.repeat(before.models[:1], 3, axis=0))
    models, rows = NearestCommunities("wnn", soft=True).assign(same, Setting())
    assert np.allclose(models[rows], same.models[0], rtol=1e-5)
