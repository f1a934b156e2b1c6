from dataclasses import replace

import numpy as np

from flockwise.stages import Choice, Setting, joint, one_model, own_flock
from flockwise.stages.attribution import BLIND, Blind
from flockwise.stages.state import largest_flock
from tests.stages.states import a_round, batch, state


def test_a_client_without_a_flock_is_sent_the_largest_flocks_model():
    _, rows = own_flock.assign(state([0, 1, 1, -1]), Setting())
    assert rows.tolist() == [0, 1, 1, 1]


def test_the_largest_flock_counts_free_members_only_and_the_lowest_number_wins_a_tie():
    assert largest_flock(state([0, 0, 1, 1, 1], apart=[0, 0, 1, 1, 0])) == 0
    assert largest_flock(state([1, 1, 0, 0])) == 0


def test_one_model_is_for_all_whatever_the_groups():
    models, rows = one_model.assign(state([0, 1, 2]), Setting())
    assert len(models) == 1 and rows.tolist() == [0, 0, 0]


def test_a_client_belongs_to_the_model_it_picked():
    before = state([0, 0, 0, 0], models=3)
    replies = batch([1, 3], np.zeros((2, 3)), chosen=[2, 1])
    assert Choice().relabel(before, replies, [(0, 1, 2)] * 2).tolist() == [0, 2, 0, 1]


def test_without_validation_data_a_client_without_a_flock_chooses_one():
    blind = Blind(np.array([False, False, False, True, False]))
    before = state([0, 1, 1, -1, -1], models=2, memory=[(BLIND, blind)])
    clients = np.array([0, 3, 4])
    _, offers = own_flock.offer(a_round(before), clients)
    assert offers == [(0,), (1, 0), (1,)], "the largest flock's model comes first"
    replies = batch(clients, np.zeros((3, 3)), chosen=[0, 1, 0])
    assert own_flock.relabel(before, replies, offers).tolist() == [0, 1, 1, 0, -1]


def test_there_is_no_choice_between_models_that_are_the_same():
    before = state([0, 1, 1, -1], models=2, memory=[(BLIND, Blind(np.ones(4, bool)))])
    before = replace(before, models=np.zeros((2, 3), np.float32))
    assert own_flock.offer(a_round(before), np.array([3]))[1] == [(1,)]


def test_jointly_everyone_is_sent_the_mean_over_free_clients_once_there_are_flocks():
    several = state([0, 1, 1, -1], models=2, apart=[0, 0, 0, 1])
    models, offers = joint.offer(a_round(several), np.array([0, 2]))
    assert offers == [(0,), (0,)]
    assert np.allclose(models, [[2 / 3] * 3]), "two of three free clients have model 1"
    alone = state([0, 0, 0], models=1)
    assert joint.offer(a_round(alone), np.array([1]))[0] is alone.models
