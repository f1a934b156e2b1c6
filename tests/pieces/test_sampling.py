import numpy as np
import pytest
from tests.pieces.states import state

from flockwise.pieces.sampling import Sampler


def test_a_full_fraction_takes_every_free_client():
    assert Sampler(1.0).draw(state([0] * 5, apart=[0, 1, 0, 2, 0])).tolist() == [0, 2, 4]


def test_the_fraction_is_rounded_to_a_count_of_distinct_sorted_clients():
    drawn = Sampler(0.3, seed=4).draw(state([0] * 20))
    assert len(drawn) == 6
    assert drawn.tolist() == sorted(set(drawn.tolist()))


def test_every_flock_sends_at_least_one_client():
    labels = np.array([0] * 17 + [1] * 2 + [-1])
    drawn = Sampler(0.1, seed=1).draw(state(labels, models=2))
    assert sorted(np.unique(labels[drawn]).tolist()) == [-1, 0, 1]


def test_without_flocks_the_fraction_is_of_all_clients():
    assert len(Sampler(0.1, per_flock=False).draw(state([0] * 10 + [1] * 10))) == 2


def test_those_set_apart_are_never_drawn():
    apart = [1, 0] * 10
    for seed in range(20):
        assert all(c % 2 for c in Sampler(0.4, seed=seed).draw(state([0] * 20, apart=apart)).tolist())


def test_in_a_census_everyone_free_takes_part():
    assert len(Sampler(0.1).draw(state([0] * 20), everyone=True)) == 20


def test_nobody_is_drawn_when_all_are_set_apart():
    assert Sampler(0.5).draw(state([0] * 3, apart=[1, 1, 1])).tolist() == []


@pytest.mark.parametrize("per_flock", [True, False])
def test_the_same_seed_and_round_draw_the_same_clients(per_flock):
    one, two = (Sampler(0.3, per_flock, 9).draw(state([0, 1] * 15)) for _ in range(2))
    assert one.tolist() == two.tolist()
