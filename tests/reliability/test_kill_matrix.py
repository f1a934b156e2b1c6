"""A twentieth of the kill matrix: each part of a deployment killed once, in the middle of a run."""

import pytest

pytest.importorskip("flwr", reason="needs flockwise[flower]")

from .kill_matrix import KINDS, matrix


@pytest.mark.extended
def test_what_is_killed_once_in_the_middle_of_a_run_changes_nothing():
    trials = matrix(list(KINDS), [9], 20)
    assert len(trials) == 3 and all(trial["held"] for trial in trials.values()), trials
