"""Clients without a flock find one on their own validation data."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from flockwise.messages import Event, Scores
from flockwise.stages import UNPLACED, place
from flockwise.stages.attribution import BLIND
from flockwise.stages.timing import FOUND, Looked
from flockwise.stages.train import HEARD, Heard
from tests.stages.states import a_round, after, asked, scored, state


def found(labels, round=3, heard=(0, 1), since=2, **more):
    memory = [(FOUND, Looked(round + 1 - since)), (HEARD, Heard(np.array(heard)))]
    return state(labels, round=round, memory=memory, **more)


def test_only_clients_of_this_round_without_a_flock_are_asked_about_the_flocks_with_members():
    before = found([0, 2, UNPLACED, UNPLACED], models=3, heard=(0, 2))
    plan, done = asked(place(), a_round(before), scored({2: (0.2, 0.9)}, round=4))
    assert [task.client for task in plan.tasks] == [2]
    assert plan.models.tolist() == before.models[[0, 2]].tolist()
    assert done.state.labels.tolist() == [0, 2, 2, UNPLACED]
    assert [(event.kind, event.client, event.detail) for event in done.events] == [
        ("placed", 2, {"flock": 2})
    ]


@pytest.mark.parametrize("since, asked_for", [(0, [2, 3]), (1, [2, 3]), (2, [2])])
def test_everyone_without_a_flock_is_asked_when_flocks_are_new(since, asked_for):
    before = found([0, 1, UNPLACED, UNPLACED], heard=(0, 2), since=since)
    plan, _ = asked(place(), a_round(before), ())
    assert [task.client for task in plan.tasks] == asked_for


def test_nobody_is_asked_before_flocks_are_found_or_while_their_models_are_the_same():
    waiting = state([0, 0, UNPLACED], round=3)
    assert after(place(), a_round(waiting)).state is waiting
    alike = found([0, 1, UNPLACED], heard=(2,))
    alike = replace(alike, models=np.ones_like(alike.models))
    assert after(place(0.1), a_round(alike)).state is alike


def test_of_equal_accuracies_the_loss_decides_and_of_equal_losses_nothing():
    before = found([0, 1, UNPLACED], heard=(2,))

    def placed(losses):
        return asked(place(), a_round(before), [Scores(2, 4, (0.5, 0.5), 10, losses)])[1].state.labels[2]

    assert placed((0.9, 0.1)) == 1 and placed((0.1, 0.9)) == 0
    assert placed((0.3, 0.3)) == UNPLACED and placed(()) == UNPLACED
    assert placed((float("nan"), 9.0)) == 1, "a loss that is no number is the worst"


def test_a_client_without_validation_data_is_remembered_to_choose_when_it_trains():
    before = found([0, 1, UNPLACED], heard=(2,))
    nan = float("nan")
    _, done = asked(place(), a_round(before), scored({2: (nan, nan)}, round=4))
    assert done.state.labels[2] == UNPLACED and BLIND.get(done.state).blind.tolist() == [False, False, True]
    _, seeing = asked(place(), a_round(done.state), scored({2: (0.9, 0.1)}, round=4))
    assert not BLIND.get(seeing.state).blind.any() and seeing.state.labels[2] == 0


@pytest.mark.parametrize("gain, moves", [(0.05, False), (0.1, False), (0.25, True)])
def test_with_follow_clients_move_only_where_they_do_that_much_better(gain, moves):
    before = found([0, 1, 1], heard=(0, 1))
    plan, done = asked(place(0.125), a_round(before), scored({0: (0.5, 0.5 + gain), 1: (0.2, 0.6)}, round=4))
    assert [task.client for task in plan.tasks] == [0, 1], "only this round's"
    assert done.state.labels.tolist() == [int(moves), 1, 1]
    assert [event.kind for event in done.events] == (["moved"] if moves else [])


def test_very_many_clients_without_a_flock_wait_until_they_take_part(monkeypatch):
    before = found([0, 1, UNPLACED, UNPLACED, UNPLACED], heard=(0, 1, 3), since=1)
    everyone, _ = asked(place(), a_round(before), scored({}, round=4))
    assert [task.client for task in everyone.tasks] == [2, 3, 4]
    monkeypatch.setattr(sys.modules["flockwise.stages.place"], "AT_ONCE", 2)
    some, _ = asked(place(), a_round(before), scored({}, round=4))
    assert [task.client for task in some.tasks] == [3]


def test_what_became_of_very_many_is_told_together(monkeypatch):
    monkeypatch.setattr(sys.modules["flockwise.stages.place"], "MOST_TOLD", 1)
    before = found([0, 1, UNPLACED, UNPLACED], heard=(0, 1), since=1)
    _, done = asked(place(), a_round(before), scored({2: (0.2, 0.9), 3: (0.1, 0.8)}, round=4))
    assert done.state.labels.tolist() == [0, 1, 1, 1]
    assert [(event.kind, event.client, event.detail) for event in done.events] == [
        ("placed", None, {"sizes": {"flock 1": 2}})
    ]


def test_where_one_flock_is_left_a_client_without_validation_data_belongs_to_it():
    """It would wait for a choice that nobody offers where there is nothing to choose."""
    before = found([1, 1, UNPLACED], heard=(2,), models=2)
    _, done = asked(place(), a_round(before), [Scores(2, 4, (float("nan"),), 0, ())])
    assert done.state.labels.tolist() == [1, 1, 1]
    assert [(event.kind, event.client) for event in done.events] == [("placed", 2)]


def test_who_sent_what_could_not_be_used_is_asked_too_and_may_leave():
    """A model that was ruined lets nobody train: its clients would never be heard again."""
    before = found([0, 1, 1], heard=(0,), since=1)
    turned_away = [Event("rejected", "not finite", client) for client in (2, 99, None)]
    plan, done = asked(
        place(0.2), a_round(before).noted(events=turned_away), scored({0: (0.9, 0.1), 2: (0.9, 0.1)}, round=4)
    )
    assert [task.client for task in plan.tasks] == [0, 2]
    assert done.state.labels.tolist() == [0, 1, 0]


@pytest.mark.parametrize("apart", [(0, 0, 0, 0), (0, 0, 1, 1)])
def test_where_a_judge_has_sent_everybody_away_all_flocks_are_on_offer(apart):
    """Two flocks that like each other's model better are both called hostile; who is set apart keeps its label."""
    labels = np.where(apart, (0, 0, 0, 1), UNPLACED)
    before = found(labels, heard=(0, 1), models=2, apart=apart)
    plan, done = asked(place(), a_round(before), scored({0: (0.2, 0.9), 1: (0.9, 0.2)}, round=4))
    assert plan.models.tolist() == before.models.tolist()
    assert [task.models for task in plan.tasks] == [(0, 1)] * 2
    assert done.state.labels[:2].tolist() == [1, 0]
