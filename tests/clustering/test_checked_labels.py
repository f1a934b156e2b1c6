"""What a clustering of one's own may return, and what is said about everything else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flockwise.clustering import checked_labels
from flockwise.errors import PluginError


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([0], r"int64 of shape \(1,\)"),
        ([0.0, 1.0, 1.0], r"float64 of shape \(3,\)"),
        ([0.0, np.nan, 1.0], r"float64 of shape \(3,\) with NaN or infinity"),
        ([0, None, 1], "a list of other things than numbers"),
        (None, "None"),
        (["a", "b", "c"], r"<U1 of shape \(3,\)"),
        ([True, False, True], r"bool of shape \(3,\)"),
        ([[0, 1, 1]], r"int64 of shape \(1, 3\)"),
        ([[0], [1, 2], [3]], "a list of other things than numbers"),
        ({0: 1}, "a dict of other things than numbers"),
        (3, r"int64 of shape \(\)"),
        ([], r"float64 of shape \(0,\)"),
        ([2**80, 1, 2], "a list of other things than numbers"),
    ],
    ids=repr,
)
def test_anything_but_one_integer_per_client_is_refused_with_one_line(labels, told):
    line = rf"^mine returned {told}: must be 3 integers, the flock of each client$"
    with pytest.raises(PluginError, match=line):
        checked_labels(labels, 3, "mine")


def test_noise_stays_alone_and_labels_count_from_zero_by_first_client():
    assert checked_labels([-1, -1, -1], 3).tolist() == [0, 1, 2]
    assert checked_labels([9, -1, 4, 9, -2], 5).tolist() == [0, 1, 2, 0, 3]
    assert checked_labels(np.array([5, 5, 2], np.uint8), 3).tolist() == [0, 0, 1]
    assert checked_labels(np.array([2**63 - 1, -1, 3]), 3).tolist() == [0, 1, 2]


@given(st.lists(st.integers(-3, 6), min_size=1, max_size=20))
def test_the_partition_stays_what_it_was(labels):
    found = checked_labels(labels, len(labels))
    assert found.dtype == np.int64 and set(found.tolist()) == set(range(found.max() + 1))
    for one in range(len(labels)):
        for other in range(one):
            assert (found[one] == found[other]) == (labels[one] == labels[other] >= 0)
