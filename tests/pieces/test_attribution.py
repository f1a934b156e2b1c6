import numpy as np
import pytest
from tests.pieces.states import batch, state

from flockwise.pieces.attribution import Choice, Communities, OneModel, OwnFlock
from flockwise.pieces.state import largest_flock


def communities(kind, labels=(0, 0, 1, 1, 2), heard=(1, 1, 1, 1, 1), round=1, **settings):
    """Five clients near the model of their community; the models are apart in every coordinate."""
    rng = np.random.default_rng(0)
    base = state(labels, models=3, dimension=40)
    models = rng.normal(size=(3, 40)).astype(np.float32)
    latest = models[np.maximum(labels, 0)] + 0.01 * rng.normal(size=(5, 40)).astype(np.float32)
    base = base.remember(**{"latest/models": latest, "latest/round": np.array(heard)})
    base = type(base)(round, models, base.labels, base.apart, base.memory)
    return base, Communities(kind, **settings).assign(base)


def test_a_client_without_a_flock_is_sent_the_largest_flocks_model():
    _, rows = OwnFlock().assign(state([0, 1, 1, -1]))
    assert rows.tolist() == [0, 1, 1, 1]


def test_the_largest_flock_counts_free_members_only_and_the_lowest_number_wins_a_tie():
    assert largest_flock(state([0, 0, 1, 1, 1], apart=[0, 0, 1, 1, 0])) == 0
    assert largest_flock(state([1, 1, 0, 0])) == 0


def test_one_model_is_for_all_whatever_the_groups():
    models, rows = OneModel().assign(state([0, 1, 2]))
    assert len(models) == 1 and rows.tolist() == [0, 0, 0]


def test_a_client_belongs_to_the_model_it_picked():
    before = state([0, 0, 0, 0], models=3)
    replies = batch([1, 3], np.zeros((2, 3)))
    replies.chosen[:] = [2, 1]
    assert Choice().relabel(before, replies, [(0, 1, 2)] * 2).tolist() == [0, 2, 0, 1]


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
    same = type(before)(
        1, np.repeat(before.models[:1], 3, axis=0), before.labels, before.apart, before.memory
    )
    models, rows = Communities("wnn").assign(same)
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
    nobody = type(before)(1, before.models, np.full(5, -1), np.ones(5, np.int8), before.memory)
    models, rows = Communities("1nn").assign(nobody)
    assert np.isfinite(models).all() and rows.max() < len(models)


def test_wnn_stands_models_so_deep_that_everything_is_far():
    before = communities("wnn")[0]
    deep = type(before)(1, np.tile(before.models, 30), before.labels, before.apart, {
        "latest/models": np.tile(before.memory["latest/models"] * 3, 30), "latest/round": np.ones(5, int)})  # fmt: skip
    layers = tuple((start, start + 4) for start in range(0, 1200, 4))
    models, rows = Communities("wnn", layers=layers).assign(deep)
    assert np.isfinite(models).all()
    assert np.allclose(models[rows], deep.models[deep.labels]), "far away, the nearest alone counts"


def test_without_validation_data_a_client_without_a_flock_chooses_one():
    blind = np.array([False, False, False, True, False])
    before = state([0, 1, 1, -1, -1], models=2, **{"place/blind": blind})
    attribution, clients = OwnFlock(), np.array([0, 3, 4])
    _, rows = attribution.assign(before)
    offers = attribution.offers(before, clients, rows)
    assert offers == [(0,), (1, 0), (1,)], "the largest flock's model comes first"
    replies = batch(clients, np.zeros((3, 3)))
    replies.chosen[:] = [0, 1, 0]
    assert attribution.relabel(before, replies, offers).tolist() == [0, 1, 1, 0, -1]


def test_there_is_no_choice_between_models_that_are_the_same():
    before = state([0, 1, 1, -1], models=2, **{"place/blind": np.ones(4, bool)})
    before = type(before)(1, np.zeros((2, 3), np.float32), before.labels, before.apart, before.memory)
    assert OwnFlock().offers(before, np.array([3]), np.array([0, 1, 1, 1])) == [(1,)]
