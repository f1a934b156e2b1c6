from tests.stages.states import a_round, after, asked, scored, state

from flockwise.messages import ROOT
from flockwise.stages import QUARANTINED, UNPLACED, judge_flocks
from flockwise.stages.judging import Judge
from flockwise.stages.schedule import FOUND, Looked


def test_the_largest_flock_is_the_only_one_left():
    assert Judge("largest").hostile({0: 3.0, 1: 9.0, 2: 2.0}) == [0, 2]


def test_a_flock_below_half_of_the_best_accuracy_is_hostile():
    assert Judge("validation").hostile({0: 0.9, 1: 0.44, 2: 0.46}) == [1]
    assert Judge("root", ratio=0.9).hostile({0: 0.9, 1: 0.44, 2: 0.85}) == [1]


def test_a_flock_nobody_could_judge_is_not_condemned():
    assert Judge("validation").hostile({0: 0.9, 1: float("nan")}) == []


def test_a_single_flock_is_never_hostile():
    assert Judge("largest").hostile({4: 1.0}) == []
    assert Judge("validation").hostile({}) == []


def test_the_best_flock_is_never_hostile_even_if_all_are_bad():
    assert Judge("validation").hostile({0: 0.0, 1: 0.0}) == []


def test_a_judge_sits_again_because_ruin_takes_time():
    assert [since for since in range(12) if Judge("validation", after=5).sits(since)] == [5, 10]
    assert [since for since in range(12) if Judge("largest", after=0).sits(since)] == [0]


def test_the_servers_own_data_is_asked_alone_and_the_hostile_flock_is_set_apart():
    before = state([0, 0, 1, 1, 1], round=5, memory=[(FOUND, Looked(1))])
    plan, done = asked(judge_flocks("root"), a_round(before), scored({ROOT: (0.9, 0.2)}, round=6))
    assert [task.client for task in plan.tasks] == [ROOT]
    assert done.state.apart.tolist() == [0, 0, QUARANTINED, QUARANTINED, QUARANTINED]
    assert done.state.labels.tolist() == [0, 0, UNPLACED, UNPLACED, UNPLACED]
    assert [event.kind for event in done.events] == ["quarantine"]


def test_no_judge_asks_before_flocks_are_found_or_when_it_does_not_sit():
    for memory in ([], [(FOUND, Looked(4))]):
        before = state([0, 0, 1, 1], round=5, memory=memory)
        assert after(judge_flocks("validation"), a_round(before)).state is before
