"""What is recorded of a round, whatever a liar made of the numbers."""

import numpy as np

from flockwise.messages import RoundRecord
from flockwise.simulation.recording import drawn_map, recorded

CLIENTS = 5


def _record(square):
    arrays = {
        "loss": np.ones(CLIENTS), "flock": np.zeros(CLIENTS, np.int64), "apart": np.zeros(CLIENTS, np.int8),
        "similarity": square.astype(np.float32),
    }  # fmt: skip
    return recorded(RoundRecord(1, {}, arrays, ()), None, None, frozenset(), []).arrays


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
