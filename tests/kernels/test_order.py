import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flockwise.kernels.order import content_order, lowest, rounded


@settings(max_examples=200, deadline=None)
@given(
    arrays(
        np.float32, st.tuples(st.integers(1, 8), st.integers(1, 40)), elements=st.integers(0, 1).map(float)
    )
)
def test_rows_are_sorted_like_tuples(rows):
    order = content_order(rows)
    assert sorted(order) == list(range(len(rows)))
    assert [tuple(row) for row in rows[order]] == sorted(tuple(row) for row in rows)


def test_rows_that_differ_only_in_the_last_place_are_told_apart():
    rows = np.zeros((3, 5000), np.float32)
    rows[:, -1] = [3, 1, 2]
    assert content_order(rows).tolist() == [1, 2, 0]


def test_scores_that_differ_in_rounding_only_are_a_tie():
    rows = np.array([[2.0], [1.0], [3.0]], np.float32)
    assert lowest(np.array([1.0, 1.0 + 1e-9, 5.0]), 1, rows).tolist() == [1]
    assert lowest(np.array([1.0, 1.1, 5.0]), 1, rows).tolist() == [0]


def test_only_members_are_considered():
    rows = np.array([[2.0], [1.0], [3.0], [0.0]], np.float32)
    assert lowest(np.array([7.0, 7.0]), 1, rows, np.array([0, 2])).tolist() == [0]


def test_rows_that_differ_in_one_column_after_the_other_are_sorted_all_the_same():
    rows = np.eye(1500, dtype=np.float32)
    shuffled = np.random.default_rng(0).permutation(1500)
    assert shuffled[content_order(rows[shuffled])].tolist() == list(range(1499, -1, -1))


def test_rounding_keeps_24_bits_of_numbers_of_any_size():
    values = np.array([1.0, 1.0 + 1e-9, -3.0, 0.0, 1e300, 5e-300, 1.0 + 2.0**-23, np.pi])
    found = rounded(values)
    assert found[0] == found[1] == 1.0 and found[2] == -3.0 and found[3] == 0.0
    assert found[6] == 1.0 + 2.0**-23, "what differs by more than rounding stays apart"
    np.testing.assert_allclose(found, values, rtol=2.0**-24)
    assert found[7] != np.pi


def test_asked_for_all_rows_they_come_in_the_order_of_their_scores():
    rows = np.array([[2.0], [1.0], [3.0]], np.float32)
    assert lowest(np.array([3.0, 1.0, 2.0]), 3, rows).tolist() == [1, 2, 0]
    assert lowest(np.array([3.0, 1.0, 2.0]), 9, rows).tolist() == [1, 2, 0]


def test_a_tie_is_broken_where_it_stands():
    rows = np.array([[5.0], [4.0], [3.0], [2.0], [1.0]], np.float32)
    scores = np.array([1.0, 2.0, 2.0, 2.0, 9.0])
    assert lowest(scores, 1, rows).tolist() == [0]
    assert lowest(scores, 2, rows).tolist() == [0, 3]
    assert lowest(scores, 3, rows).tolist() == [0, 3, 2]
    assert lowest(scores, 4, rows).tolist() == [0, 3, 2, 1]
    assert lowest(np.array([1.0, 1.0, 2.0, 3.0, 4.0]), 2, rows).tolist() == [1, 0]
    assert lowest(np.array([1.0, 1.0, 2.0, 3.0, 4.0]), 1, rows).tolist() == [1]
    assert lowest(np.array([-1.0, -1.0 - 1e-9, 2.0, 3.0, 4.0]), 1, rows).tolist() == [1]


def test_scores_of_nothing_are_a_tie():
    rows = np.array([[2.0], [1.0], [3.0]], np.float32)
    assert lowest(np.zeros(3), 1, rows).tolist() == [1]
