import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from flockwise.studies.statistics import LEVEL, chance_of_no_gain, marks, mean_and_half_width, worst_by_seed

values = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 3))
rows = st.lists(st.lists(values, min_size=2, max_size=6), min_size=1, max_size=6)


def by_seed(row):
    return dict(enumerate(row))


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=10))
def test_the_interval_is_students(row):
    mean, half = mean_and_half_width(row)
    spread = np.std(row, ddof=1) / math.sqrt(len(row))
    assert mean == pytest.approx(np.mean(row), abs=1e-9)
    assert half == pytest.approx(stats.t.ppf(0.975, len(row) - 1) * spread, rel=1e-9, abs=1e-9)


def test_one_seed_has_no_interval_and_none_has_no_mean():
    assert mean_and_half_width([0.5]) == (0.5, None)
    assert math.isnan(mean_and_half_width([])[0])


@given(st.lists(st.tuples(values, values), min_size=2, max_size=8))
def test_the_comparison_is_the_paired_t_test(pairs):
    first, second = zip(*pairs, strict=True)
    gains = np.subtract(first, second)
    if gains.std() < 1e-9:
        return
    wanted = stats.ttest_rel(first, second, alternative="greater").pvalue
    assert chance_of_no_gain(by_seed(first), by_seed(second)) == pytest.approx(wanted, abs=1e-9)


def test_only_common_seeds_are_compared():
    assert chance_of_no_gain({0: 0.9, 1: 0.8}, {1: 0.1, 2: 0.2}) is None
    paired = chance_of_no_gain({0: 0.9, 1: 0.8, 2: 0.7}, {1: 0.1, 2: 0.2, 7: 0.9})
    assert paired == pytest.approx(stats.ttest_rel([0.8, 0.7], [0.1, 0.2], alternative="greater").pvalue)


def test_the_same_difference_with_every_seed_is_told_apart_from_none():
    assert chance_of_no_gain({0: 0.3, 1: 0.1 + 0.2}, {0: 0.1 + 0.2, 1: 0.3}) == 1.0
    assert chance_of_no_gain({0: 5.0, 1: 5.0}, {0: 0.0, 1: 0.0}) == 0.0


@given(rows)
def test_lower_is_higher_the_other_way_round(given_rows):
    high = marks([by_seed(row) for row in given_rows], "higher")
    low = marks([by_seed([-value for value in row]) for row in given_rows], "lower")
    assert high == low
    assert set(marks([by_seed(row) for row in given_rows], "neither")) <= {""}


@given(rows, st.randoms(use_true_random=False))
def test_marks_do_not_depend_on_the_order_of_rows(given_rows, random):
    order = list(range(len(given_rows)))
    random.shuffle(order)
    straight = marks([by_seed(row) for row in given_rows], "higher")
    shuffled = marks([by_seed(given_rows[place]) for place in order], "higher")
    assert [straight[place] for place in order] == shuffled


@given(rows)
def test_equal_rows_have_equal_marks_and_the_highest_mean_is_best(given_rows):
    found = marks([by_seed(row) for row in [*given_rows, given_rows[0]]], "higher")
    assert found[0] == found[-1]
    means = [np.mean(row) for row in [*given_rows, given_rows[0]]]
    assert found[int(np.argmax(means))] == "best"


def test_one_seed_gives_no_marks():
    assert marks([{0: 0.9}, {0: 0.1}], "higher") == ["", ""]
    assert marks([{0: 0.99}, {0: 0.8, 1: 0.8, 2: 0.9}, {0: 0.1, 1: 0.1, 2: 0.2}], "higher") == [
        "",
        "best",
        "",
    ]


def test_nobody_is_best_alone():
    assert marks([{0: 0.9, 1: 0.8}], "higher") == [""]
    assert marks([{0: 0.9, 1: 0.8}, None], "higher") == ["", ""]


def test_a_clear_difference_is_seen_with_three_seeds_and_a_small_one_is_not():
    rows = [{0: 0.95, 1: 0.94, 2: 0.95}, {0: 0.94, 1: 0.95, 2: 0.93}, {0: 0.30, 1: 0.31, 2: 0.29}]
    assert marks(rows, "higher") == ["best", "tied", ""]
    assert marks(rows, "lower") == ["", "", "best"]


@pytest.mark.parametrize("methods", [2, 7, 20])
def test_the_truly_best_is_marked_in_at_least_nineteen_columns_of_twenty(methods):
    random = np.random.default_rng(5)
    lost, columns = 0, 1500
    for _ in range(columns):
        # All are equally good, so any of them, say the first, is a truly best one.
        table = random.normal(size=(methods, 3)) + random.normal(size=3)
        lost += marks([by_seed(row) for row in table], "higher")[0] == ""
    allowed = columns * LEVEL + 3 * math.sqrt(columns * LEVEL * (1 - LEVEL))
    assert lost <= allowed


@given(st.lists(st.lists(values, min_size=3, max_size=3), min_size=1, max_size=5))
def test_the_worst_is_taken_for_each_seed_first(columns):
    worst = worst_by_seed([by_seed(column) for column in columns], "higher")
    assert worst == {seed: min(column[seed] for column in columns) for seed in range(3)}
    assert np.mean(list(worst.values())) <= min(np.mean(column) for column in columns) + 1e-12
    highest = worst_by_seed([by_seed(column) for column in columns], "lower")
    assert highest == {seed: max(column[seed] for column in columns) for seed in range(3)}


def test_a_seed_that_lacks_a_setting_has_no_worst():
    assert worst_by_seed([{0: 0.5, 1: 0.6}, {1: 0.4, 2: 0.1}], "higher") == {1: 0.4}
    assert worst_by_seed([], "higher") == {}
