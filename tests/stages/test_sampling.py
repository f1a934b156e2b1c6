import numpy as np
import pytest

from flockwise.stages import everyone, sample, sample_from_all
from tests.stages.states import a_round, state


def drawn(draw, before, fraction=1.0, seed=0):
    return draw(a_round(before, fraction=fraction, seed=seed))


def test_a_full_fraction_takes_every_free_client():
    assert drawn(sample, state([0] * 5, apart=[0, 1, 0, 2, 0])).tolist() == [0, 2, 4]


def test_the_fraction_is_rounded_to_a_count_of_distinct_sorted_clients():
    found = drawn(sample, state([0] * 20), 0.3, seed=4)
    assert len(found) == 6
    assert found.tolist() == sorted(set(found.tolist()))


def test_every_flock_sends_at_least_one_client():
    labels = np.array([0] * 17 + [1] * 2 + [-1])
    found = drawn(sample, state(labels, models=2), 0.1, seed=1)
    assert sorted(np.unique(labels[found]).tolist()) == [-1, 0, 1]


def test_without_flocks_the_fraction_is_of_all_clients():
    assert len(drawn(sample_from_all, state([0] * 10 + [1] * 10), 0.1)) == 2


def test_those_set_apart_are_never_drawn():
    apart = [1, 0] * 10
    for seed in range(20):
        assert all(c % 2 for c in drawn(sample, state([0] * 20, apart=apart), 0.4, seed).tolist())


def test_in_a_census_everyone_free_takes_part():
    assert len(drawn(everyone, state([0] * 20), 0.1)) == 20


def test_nobody_is_drawn_when_all_are_set_apart():
    assert drawn(sample, state([0] * 3, apart=[1, 1, 1]), 0.5).tolist() == []


@pytest.mark.parametrize("draw", [sample, sample_from_all])
def test_the_same_seed_and_round_draw_the_same_clients(draw):
    one, two = (drawn(draw, state([0, 1] * 15), 0.3, seed=9) for _ in range(2))
    assert one.tolist() == two.tolist()


@pytest.mark.parametrize("draw", [everyone, sample, sample_from_all])
def test_those_that_cannot_be_reached_are_never_drawn(draw):
    begun = a_round(state([0, 1] * 5, apart=[1] + [0] * 9), fraction=0.6)
    here = np.arange(10) < 6
    found = draw(begun.to(begun.state, present=here))
    assert set(found.tolist()) <= {1, 2, 3, 4, 5}
    assert draw(begun.to(begun.state, present=np.zeros(10, bool))).tolist() == []
