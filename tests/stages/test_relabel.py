from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from flockwise.stages.grouping import Found
from flockwise.stages.relabel import inherited, renumbered, split_inside
from flockwise.stages.state import UNPLACED
from tests.stages.states import state


@st.composite
def situations(draw):
    """Any labels before, and any flocks found among any of the clients."""
    before = np.array(draw(st.lists(st.integers(-1, 4), min_size=1, max_size=14)), np.int64)
    clients = np.array(sorted(draw(st.sets(st.integers(0, len(before) - 1), min_size=1))), np.int64)
    raw = draw(st.lists(st.integers(0, 3), min_size=len(clients), max_size=len(clients)))
    labels = np.unique(raw, return_inverse=True)[1]
    return state(before, models=5), Found(clients, labels.astype(np.int64))


@settings(max_examples=200, deadline=None)
@given(situations())
def test_finding_flocks_anew_keeps_a_partition_of_those_compared(situation):
    before, found = situation
    after = renumbered(before, found)
    together_now = after[found.clients][:, None] == after[found.clients][None, :]
    together_found = found.labels[:, None] == found.labels[None, :]
    assert np.array_equal(together_now, together_found), "one number for each flock, and no number twice"
    assert (after[found.clients] >= 0).all()
    others = np.setdiff1d(np.arange(before.clients), found.clients)
    assert (after[others] == UNPLACED).all()


@settings(max_examples=200, deadline=None)
@given(situations())
def test_every_flock_has_a_model_after_relabelling(situation):
    before, found = situation
    after = renumbered(before, found)
    models = inherited(before, after)
    assert after.max() < len(models)
    assert np.isfinite(models).all()


@settings(max_examples=200, deadline=None)
@given(situations(), st.booleans())
def test_a_split_moves_only_members_of_its_flock(situation, keep):
    before, found = situation
    flock = int(before.labels[found.clients[0]])
    members = found.clients[before.labels[found.clients] == flock]
    if flock == UNPLACED:
        return
    parts = np.unique(found.labels[before.labels[found.clients] == flock], return_inverse=True)[1]
    after = split_inside(before, flock, Found(members, parts.astype(np.int64)), keep)
    elsewhere = before.labels != flock
    assert np.array_equal(after[elsewhere], before.labels[elsewhere])
    assert len(np.unique(after[members])) == parts.max() + 1
    fresh = set(after[members].tolist()) - {flock}
    assert not fresh & set(before.labels[elsewhere].tolist()), "a new flock never gets a number in use"
    absent = np.setdiff1d(np.flatnonzero(before.labels == flock), members)
    assert (after[absent] == (flock if keep else UNPLACED)).all()


def test_a_flock_keeps_its_number_when_most_members_stay():
    before = state([0, 0, 0, 1, 1, 1])
    after = renumbered(before, Found(np.arange(6), np.array([1, 1, 1, 1, 0, 0])))
    assert after.tolist() == [0, 0, 0, 0, 1, 1]


def test_the_largest_part_of_a_split_keeps_the_number():
    after = split_inside(state([0] * 5), 0, Found(np.arange(5), np.array([0, 0, 1, 1, 1])), False)
    assert after.tolist() == [1, 1, 0, 0, 0]


def test_a_new_flock_starts_from_a_bit_exact_copy_of_its_only_parent():
    models = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
    after = inherited(replace(state([0, 0, 1, 1]), models=models), np.array([0, 2, 1, 1]))
    assert after[2].tobytes() == models[0].tobytes()


def test_a_flock_from_two_parents_starts_from_the_mean_over_its_members():
    models = np.array([[0.0], [3.0]], np.float32)
    before = replace(state([0, 1, 1]), models=models)
    assert inherited(before, np.array([2, 2, 2]))[2].tolist() == [2.0]


def test_a_flock_of_newcomers_starts_from_what_they_were_sent_the_largest_flocks_model():
    before = state([0, 1, 1, UNPLACED, UNPLACED, 2], models=4)
    after = np.array([0, 1, 1, 3, 3, 4])
    models = inherited(before, after)
    assert models[3].tolist() == before.models[1].tolist(), "not what flock 3 once had"
    newcomers = inherited(before, np.array([0, 1, 1, 4, 4, 2]))
    assert newcomers[4].tolist() == before.models[1].tolist(), "and not zeros"
