"""Which of two scores is better, whatever the task."""

import math

import pytest

from flockwise.errors import InputError
from flockwise.scoring import ACCURACY, Scoring, read_scoring

MAE = Scoring("mae", "lower", 0.0, math.inf)
R2 = Scoring("r2", "higher", -math.inf, 1.0)
ANY = Scoring("any", "higher", -math.inf, math.inf)


def test_quality_grows_with_what_is_better():
    assert ACCURACY.quality(0.9) > ACCURACY.quality(0.8)
    assert MAE.quality(1.0) > MAE.quality(2.0)
    assert (ACCURACY.best([0.1, 0.9]), MAE.best([0.1, 0.9])) == (0.9, 0.1)


def test_an_error_falls_short_where_it_is_as_many_times_the_best():
    assert ACCURACY.falls_short(0.39, 0.8, 0.5) and not ACCURACY.falls_short(0.41, 0.8, 0.5)
    assert MAE.falls_short(21.0, 10.0, 0.5) and not MAE.falls_short(19.0, 10.0, 0.5)
    assert R2.falls_short(0.5, 0.9, 0.5) and not R2.falls_short(0.85, 0.9, 0.5)
    assert R2.falls_short(-3.0, -1.0, 0.6)
    assert not ANY.falls_short(-5.0, 5.0, 0.5)  # a share of nothing


def test_the_gain_is_in_points_or_a_share_of_what_is_missing():
    assert ACCURACY.gain(0.5, 0.8) == pytest.approx(0.3)
    assert MAE.gain(10.0, 8.0) == pytest.approx(0.2) and MAE.gain(8.0, 10.0) < 0
    assert R2.gain(0.5, 0.75) == pytest.approx(0.5)
    assert MAE.gain(0.0, 0.0) == 0.0


def test_scores_that_differ_little_are_coarsely_the_same():
    assert ACCURACY.coarse(0.801) == ACCURACY.coarse(0.799) < ACCURACY.coarse(0.85)
    assert MAE.coarse(10.0) == MAE.coarse(10.01) > MAE.coarse(11.0)


@pytest.mark.parametrize("value", [math.inf, -math.inf, -0.1, "0.5", None, 1, 2e30])
def test_what_no_task_could_have_measured_is_named(value):
    assert "mae" in MAE.fault(value) and "between 0 and 1e+30" in MAE.fault(value)


def test_bounds_are_those_of_the_score():
    assert MAE.fault(250.0) is None and MAE.fault(math.nan) is None and R2.fault(-7.0) is None
    assert "between 0 and 1" in ACCURACY.fault(1.5)
    assert (MAE.worst, R2.worst, ACCURACY.worst) == (1e30, -1e30, 0.0)


@pytest.mark.parametrize("scoring", [ACCURACY, MAE, R2, ANY])
def test_it_is_read_back_as_it_was_written(scoring):
    assert read_scoring(scoring.written()) == scoring


@pytest.mark.parametrize(
    "text", ["", "{}", "[1, 2]", '["x", "sideways", 0, 1]', '["x", "lower", 3, 1]', "[" * 10000]
)
def test_what_cannot_be_read_is_accuracy(text):
    assert read_scoring(text) == ACCURACY


def test_directions_and_bounds_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="better = 'up'"):
        Scoring("x", "up")
    with pytest.raises(InputError, match="low must be below high"):
        Scoring("x", "lower", 1.0, 1.0)
