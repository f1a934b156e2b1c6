from dataclasses import replace

import numpy as np
import pytest

from flockwise.messages import ROOT
from flockwise.stages import QUARANTINED, UNPLACED, judge_flocks
from flockwise.stages.judging import Judge, witnesses
from flockwise.stages.stage import Admitted
from flockwise.stages.timing import FOUND, Looked
from tests.stages.states import a_round, after, asked, batch, scored, state


def hostile(kind, own, best=None, **settings):
    """The hostile flocks; the best that each could have is the best of all, if not said otherwise."""
    top = max(own.values(), default=0.0)
    return Judge(kind, **settings).hostile(own, dict.fromkeys(own, top) if best is None else best)


def test_the_largest_flock_is_the_only_one_left():
    assert hostile("largest", {0: 3.0, 1: 9.0, 2: 2.0}) == [0, 2]


def test_a_flock_below_half_of_the_best_accuracy_is_hostile():
    assert hostile("root", {0: 0.9, 1: 0.44, 2: 0.46}) == [1]
    assert hostile("root", {0: 0.9, 1: 0.44, 2: 0.85}, ratio=0.9) == [1]


def test_by_validation_only_what_its_own_members_say_condemns_a_flock():
    assert hostile("validation", {0: 0.9, 1: 0.44, 2: 0.3}, {0: 0.9, 1: 0.9, 2: 0.5}) == [1]
    assert hostile("validation", {0: 0.4, 1: 1.0}, {0: 0.4, 1: 1.0}) == [], "however well others say they do"


def test_a_flock_nobody_could_judge_is_not_condemned():
    nan = float("nan")
    assert Judge("validation").hostile({0: 0.9, 1: nan}, {0: 0.9, 1: nan}) == []
    assert Judge("validation").hostile({0: 0.9, 1: 0.1, 2: nan}, {0: 0.9, 1: 0.8, 2: nan}) == [1]


def test_a_single_flock_is_never_hostile():
    assert hostile("largest", {4: 1.0}) == []
    assert hostile("validation", {}) == []


def test_the_best_flock_is_never_hostile_even_if_all_are_bad():
    assert hostile("validation", {0: 0.0, 1: 0.0}) == []


def test_a_judge_sits_again_because_ruin_takes_time():
    assert [since for since in range(12) if Judge("validation", after=5).sits(since)] == [5, 10]
    assert [since for since in range(12) if Judge("largest", after=0).sits(since)] == [0]


def test_the_servers_own_data_is_asked_alone_and_the_hostile_flock_is_set_apart():
    before = state([0, 0, 0, 1, 1], round=5, memory=[(FOUND, Looked(1))])
    plan, done = asked(judge_flocks("root"), a_round(before), scored({ROOT: (0.9, 0.2)}, round=6))
    assert [task.client for task in plan.tasks] == [ROOT]
    assert done.state.apart.tolist() == [0, 0, 0, QUARANTINED, QUARANTINED]
    assert done.state.labels.tolist() == [0, 0, 0, UNPLACED, UNPLACED]
    assert [event.kind for event in done.events] == ["quarantine"]


def test_a_majority_is_named_and_left_to_a_person():
    before = state([0, 0, 1, 1, 1], round=5, memory=[(FOUND, Looked(1))])
    _, done = asked(judge_flocks("root"), a_round(before), scored({ROOT: (0.9, 0.2)}, round=6))
    assert done.state is before
    assert [(event.kind, event.detail["clients"]) for event in done.events] == [("alarm", [2, 3, 4])]


def test_liars_that_are_the_most_of_a_flock_do_not_have_the_rest_of_it_set_apart():
    """Clients 3 and 4 call their flock's model worthless; client 5 is content with it."""
    before = state([0, 0, 0, 1, 1, 1], round=5, memory=[(FOUND, Looked(1))])
    said = {**dict.fromkeys(range(3), (0.9, 0.2)), 3: (1.0, 0.0), 4: (1.0, 0.0), 5: (0.2, 0.9)}
    _, done = asked(judge_flocks("validation"), a_round(before), scored(said, round=6))
    assert done.state.apart.tolist() == [0, 0, 0, QUARANTINED, QUARANTINED, 0]
    assert done.state.labels.tolist() == [0, 0, 0, UNPLACED, UNPLACED, UNPLACED]  # it looks for a flock


def test_a_client_with_coarse_numbers_says_it_of_itself_with_half_as_much():
    before = state([0] * 5 + [1] * 3, round=5, memory=[(FOUND, Looked(1))])
    said = {**dict.fromkeys(range(5), (0.9, 0.2)), 5: (0.8, 0.0), 6: (0.8, 0.5), 7: (0.8, 0.1)}
    _, done = asked(judge_flocks("validation"), a_round(before), scored(said, round=6))
    assert done.state.apart.tolist() == [0] * 5 + [QUARANTINED] * 3


def test_nobody_is_sentenced_without_having_been_asked(monkeypatch):
    monkeypatch.setattr("flockwise.stages.judging.MOST_WITNESSES", 2)
    before = state([0] * 5 + [1] * 4, round=5, memory=[(FOUND, Looked(1))])
    steps = judge_flocks("validation").run(a_round(before))
    first = [task.client for task in next(steps).tasks]
    plan = steps.send(Admitted(scored(dict.fromkeys(first, (0.9, 0.2)), round=6)))
    unheard = [task.client for task in plan.tasks]
    assert sorted([*unheard, *(client for client in first if client > 4)]) == [5, 6, 7, 8]
    with pytest.raises(StopIteration) as done:
        steps.send(Admitted(scored({unheard[0]: (0.9, 0.1), unheard[1]: (0.1, 0.9)}, round=6)))
    apart = np.flatnonzero(done.value.value.state.apart)
    assert set(apart.tolist()) == {5, 6, 7, 8} - {unheard[1]}


def test_wolves_told_apart_in_this_very_round_are_not_taken_for_victims_of_the_flock_they_came_from():
    """Their updates oppose where it went, as wolves' do; nobody has gone where their new flock goes."""
    began = state([0] * 5, models=1, dimension=2)
    updates = np.array([[1.0, 0.0]] * 3 + [[-1.0, 0.0]] * 2)
    found = replace(
        FOUND.put(began, Looked(1)), labels=np.array([0, 0, 0, 1, 1]),
        models=np.array([[0.2, 0.0], [0.2, 0.0]], np.float32),
    )  # fmt: skip
    round = replace(a_round(found, batch(range(5), updates)), before=began)
    done = after(judge_flocks("largest"), round)
    assert done.state.apart.tolist() == [0, 0, 0, QUARANTINED, QUARANTINED]


def test_no_judge_asks_before_flocks_are_found_or_when_it_does_not_sit():
    for memory in ([], [(FOUND, Looked(4))]):
        before = state([0, 0, 1, 1], round=5, memory=memory)
        assert after(judge_flocks("validation"), a_round(before)).state is before


def test_of_very_large_flocks_some_members_are_asked_the_same_whenever_it_is_asked(monkeypatch):
    before = a_round(state([0] * 30 + [1] * 3 + [UNPLACED], round=4))
    assert witnesses(before, np.array([0, 1])).tolist() == list(range(34))
    monkeypatch.setattr("flockwise.stages.judging.MOST_WITNESSES", 5)
    drawn = witnesses(before, np.array([0, 1]))
    assert len(drawn) == 8 and (drawn[:5] < 30).all() and drawn[5:].tolist() == [30, 31, 32]
    assert drawn.tolist() == witnesses(before, np.array([0, 1])).tolist()
