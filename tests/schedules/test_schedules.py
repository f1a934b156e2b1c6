"""Learning rates that change from turn to turn."""

import math

import pytest

from flockwise import schedules
from flockwise.errors import ConfigError, InputError, PluginError
from flockwise.schedules import SCHEDULES, factor_of, schedules_from


def tenth(turn):
    """A schedule of a user's own."""
    return 0.1


def negative(turn):
    """A schedule that makes no sense."""
    return -1.0


def test_exponential_multiplies_by_the_factor_in_every_turn():
    made = schedules.exponential(0.99)
    assert [made.factor(turn) for turn in range(3)] == [1.0, 0.99, 0.99**2]


def test_steps_fall_every_so_many_turns():
    made = schedules.step(every=2, factor=0.5)
    assert [made.factor(turn) for turn in range(5)] == [1.0, 1.0, 0.5, 0.5, 0.25]


def test_cosine_goes_from_one_to_its_floor_and_stays_there():
    made = schedules.cosine(floor=0.1, over=10)
    assert made.factor(0) == 1.0
    assert made.factor(5) == pytest.approx(0.55)
    assert made.factor(10) == made.factor(25) == pytest.approx(0.1)


def test_a_cosine_that_knows_no_end_says_so_and_one_that_is_told_later_keeps_what_was_said():
    with pytest.raises(InputError, match="over how many turns"):
        schedules.cosine().factor(1)
    assert schedules.cosine().factor(1, 2) == pytest.approx(0.5)
    assert schedules.cosine().over(8).options["over"] == 8
    assert schedules.cosine(over=4).over(8).options["over"] == 4


def test_warmup_reaches_the_whole_rate_and_goes_with_another_one():
    both = schedules_from([schedules.warmup(4), {"name": "exponential", "factor": 0.5}])
    assert [factor_of(both, turn) for turn in range(5)] == [0.25, 0.25, 0.1875, 0.125, 0.0625]


def test_every_schedule_gives_finite_factors_from_the_first_turn_on():
    for piece in SCHEDULES.values():
        for turn in (0, 1, 7, 99):
            assert 0 <= piece().factor(turn, 100) < math.inf


def test_one_of_a_users_own_is_found_by_name_or_given_as_it_is():
    (named,) = schedules_from(f"{__name__}:tenth")
    (given,) = schedules_from(tenth)
    assert named.factor(3) == given.factor(3) == 0.1
    assert given.section() == {"name": f"{__name__}:tenth"}


@pytest.mark.parametrize(
    "said, match",
    [
        (lambda turn: 1.0, "at the top of a module"),
        (len, "function of `turn`"),
        (3, "must be a name"),
    ],
)
def test_what_is_no_schedule_is_told_in_a_line(said, match):
    with pytest.raises(InputError, match=match):
        schedules_from(said)


def test_wrong_options_and_wrong_factors_are_told_by_name():
    with pytest.raises(ConfigError, match=r"training\.schedule\.factor = -1"):
        schedules.exponential(-1.0)
    with pytest.raises(PluginError, match="did you mean 'cosine'"):
        schedules_from("cosin")
    with pytest.raises(PluginError, match=r"made -1\.0: must be a finite number"):
        schedules_from(negative)[0].factor(0)
