"""What is recorded of a round, whatever a liar made of the numbers."""

import numpy as np
import pytest

from flockwise.engine import Evaluation
from flockwise.messages import RoundRecord
from flockwise.runs.recording import drawn_map, recorded

CLIENTS = 5


def _record(square):
    arrays = {
        "loss": np.ones(CLIENTS), "flock": np.zeros(CLIENTS, np.int64), "apart": np.zeros(CLIENTS, np.int8),
        "similarity": square.astype(np.float32),
    }  # fmt: skip
    return recorded(RoundRecord(1, {}, arrays, ()), None, None, frozenset(), []).arrays


def test_accuracy_counts_honest_clients_that_were_set_apart_by_mistake():
    arrays = {
        "loss": np.ones(CLIENTS), "flock": np.zeros(CLIENTS, np.int64), "apart": np.array([0, 0, 0, 1, 1], np.int8),
    }  # fmt: skip
    tested = Evaluation(np.array([0.9, 0.9, 0.2, 0.1, 0.5]), np.ones(CLIENTS))
    facts = recorded(RoundRecord(1, {}, arrays, ()), tested, None, frozenset({4}), []).facts
    assert facts["accuracy"] == pytest.approx(2.1 / 4) and facts["accuracy_taking_part"] == pytest.approx(
        2.0 / 3
    )
    assert facts["accuracy_worst"] == 0.1 and (facts["false_alarms"], facts["missed"]) == (1, 0)


def test_the_worst_group_is_that_of_the_honest_clients():
    arrays = {
        "loss": np.ones(CLIENTS), "flock": np.zeros(CLIENTS, np.int64), "apart": np.zeros(CLIENTS, np.int8),
    }  # fmt: skip
    tested = Evaluation(np.array([0.9, 0.7, 0.4, 0.6, 0.0]), np.ones(CLIENTS))
    truth = np.array([0, 0, 1, 1, 1])
    facts = recorded(RoundRecord(1, {}, arrays, ()), tested, truth, frozenset({4}), []).facts
    assert facts["accuracy_worst_group"] == pytest.approx(0.5) and facts["missed"] == 1


def _distances(largest):
    square = np.abs(np.subtract.outer(np.arange(CLIENTS), np.arange(CLIENTS))) * 1.0
    square[0, 1:] = square[1:, 0] = largest
    return square


def test_a_client_infinitely_far_does_not_spoil_the_map():
    for largest in (np.inf, np.nan, 3e38):
        assert np.isfinite(drawn_map(_distances(largest))).all()


def test_similarities_are_kept_small_unless_they_would_not_fit():
    assert _record(_distances(7.0))["similarity"].dtype == np.float16
    kept = _record(_distances(1e6))["similarity"]
    assert kept.dtype == np.float32 and kept.max() == 1e6
