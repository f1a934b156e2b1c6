"""What clients are compared on stays each client's own, whoever else was heard."""

import numpy as np
import pytest
from tests.pieces.states import batch, state

from flockwise.pieces.evidence import LatestModels, LatestUpdates
from flockwise.pieces.state import State
from flockwise.similarity import cosine

ROWS = np.array([[1.0, 2.0, 3.0], [3.0, -1.0, 0.5]], np.float32)


@pytest.mark.parametrize("evidence", [LatestUpdates(), LatestModels()], ids=["updates", "models"])
def test_the_rows_are_those_of_the_clients_heard(evidence):
    replies = batch([3, 5], ROWS)
    known = evidence.known(evidence.remember(state([0] * 8, models=1), replies), replies)
    assert known.clients.tolist() == [3, 5]
    assert np.array_equal(known.rows, ROWS)
    assert np.array_equal(known.of(np.array([1])).rows, ROWS[1:])
    assert np.allclose(known.cosine(), cosine(ROWS))


def test_a_fork_compares_by_its_own_age_limit():
    first = LatestUpdates().remember(state([0] * 4, models=1), batch([0], ROWS[:1], round=1))
    restored = State.from_arrays(first.to_arrays())
    later = batch([2], ROWS[1:], round=9)
    for max_age, expected in ((None, [0, 2]), (3, [2])):
        evidence = LatestUpdates(max_age)
        assert evidence.known(evidence.remember(restored, later), later).clients.tolist() == expected
