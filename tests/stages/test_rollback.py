from dataclasses import replace

import numpy as np

from flockwise.stages import keep_snapshots
from flockwise.stages.rollback import _SNAPSHOTS, MOST
from flockwise.stages.timing import FOUND, Looked
from tests.stages.states import a_round, after, batch, state

REPLIES = batch([0], np.zeros((1, 3)))


def kept_rounds(every, rounds):
    now = state([0, 0], models=1)
    for round in range(rounds):
        now = replace(now, round=round, models=np.full((1, 3), round, np.float32))
        now = after(keep_snapshots(True, every), a_round(now, REPLIES)).state
    return _SNAPSHOTS.get(now)


def test_snapshots_begin_with_the_first_model_and_hold_the_model_of_their_round():
    kept = kept_rounds(5, 22)
    assert kept.rounds.tolist() == [0, 5, 10, 15, 20]
    assert kept.models[:, 0].tolist() == [0, 5, 10, 15, 20]


def test_snapshots_never_exceed_their_number_and_stay_spread_over_the_whole_past():
    for rounds in (1, 40, 41, 100, 333):
        kept = kept_rounds(2, rounds).rounds
        assert len(kept) <= MOST
        assert kept[0] == 0
        assert len(set(np.diff(kept).tolist())) <= 1
        assert rounds - kept[-1] <= max(np.diff(kept).max(initial=2), 2)


def test_no_snapshot_is_taken_once_flocks_are_found():
    before = state([0, 1], round=10, memory=[(FOUND, Looked(3))])
    assert _SNAPSHOTS.get(after(keep_snapshots(True), a_round(before, REPLIES)).state) is None
