"""What clients are compared on stays each client's own, whoever else was heard."""

from dataclasses import replace

import numpy as np
import pytest

from flockwise.similarity import cosine
from flockwise.stages import LatestModels, LatestUpdates, State, this_round
from tests.stages.states import a_round, after, batch, state

ROWS = np.array([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], np.float32)


@pytest.mark.parametrize("evidence", [LatestUpdates(), LatestModels()], ids=["updates", "models"])
def test_the_rows_are_those_of_the_clients_heard(evidence):
    done = after(evidence.remember, a_round(state([0] * 8, models=1), batch([3, 5], ROWS)))
    known = evidence.known(done)
    assert known.clients.tolist() == [3, 5]
    assert np.array_equal(known.rows, ROWS)
    assert np.array_equal(known.of(np.array([1])).rows, ROWS[1:])
    assert np.allclose(known.cosine(), cosine(ROWS))


def test_a_fork_compares_by_its_own_age_limit():
    first = after(
        LatestUpdates().remember, a_round(state([0] * 4, models=1), batch([0], ROWS[:1], round=1))
    ).state
    restored = State.from_arrays({name: array.copy() for name, array in first.to_arrays().items()})
    later = a_round(replace(restored, round=8), batch([2], ROWS[1:], round=9))
    for max_age, expected in ((None, [0, 2]), (3, [2])):
        evidence = LatestUpdates(max_age)
        assert evidence.known(after(evidence.remember, later)).clients.tolist() == expected


def test_those_set_apart_are_not_known():
    begun = a_round(state([0] * 8, models=1, apart=[0, 0, 0, 1, 0, 0, 0, 0]), batch([3, 5], ROWS))
    for evidence in (LatestUpdates(), LatestModels()):
        assert evidence.known(after(evidence.remember, begun)).clients.tolist() == [5]


def test_this_round_knows_only_those_that_answered():
    known = this_round.known(a_round(state([0] * 8, models=1), batch([3, 5], ROWS)))
    assert known.clients.tolist() == [3, 5] and np.array_equal(known.rows, ROWS)
