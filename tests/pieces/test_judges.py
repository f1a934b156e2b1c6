import numpy as np
from tests.pieces.states import state

from flockwise.pieces.judges import Judge, Recovery


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


def kept_rounds(recovery, rounds):
    now = state([0, 0], models=1)
    for round in range(rounds):
        now = type(now)(round, np.full((1, 3), round, np.float32), now.labels, now.apart, now.memory)
        now = recovery.remember(now, round)
    return now


def test_snapshots_begin_with_the_first_model_and_hold_the_model_of_their_round():
    after = kept_rounds(Recovery(every=5, keep=8), 22)
    assert after.memory["snapshot/rounds"].tolist() == [0, 5, 10, 15, 20]
    assert after.memory["snapshot/models"][:, 0].tolist() == [0, 5, 10, 15, 20]


def test_snapshots_never_exceed_their_number_and_stay_spread_over_the_whole_past():
    for rounds in (1, 40, 41, 100, 333):
        kept = kept_rounds(Recovery(every=2, keep=6), rounds).memory["snapshot/rounds"]
        assert len(kept) <= 6
        assert kept[0] == 0
        assert len(set(np.diff(kept).tolist())) <= 1
        assert rounds - kept[-1] <= max(np.diff(kept).max(initial=2), 2)


def test_no_snapshot_is_taken_once_flocks_are_found():
    before = state([0, 1], **{"found/round": np.array([3])})
    assert "snapshot/rounds" not in Recovery().remember(before, 10).memory


def test_a_judge_sits_again_because_ruin_takes_time():
    assert [since for since in range(12) if Judge("validation", after=5).sits(since)] == [5, 10]
    assert [since for since in range(12) if Judge("largest", after=0).sits(since)] == [0]
