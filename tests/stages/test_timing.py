import numpy as np
import pytest

from flockwise.stages import Every, Found, WhenStable, once
from flockwise.stages.timing import FOUND, LOOKED, Looked
from tests.stages.states import a_round, state


def found(labels, clients=None):
    labels = np.asarray(labels, np.int64)
    return Found(np.arange(len(labels)) if clients is None else np.asarray(clients), labels)


@pytest.mark.parametrize("memory", [LOOKED, FOUND], ids=repr)
def test_once_is_the_first_round_that_succeeds(memory):
    schedule, before = once(7), state([0])
    assert [r for r in range(1, 30) if schedule.look(before, r)] == list(range(7, 30)), (
        "one that failed comes again"
    )
    done = memory.put(before, Looked(7))
    assert not any(schedule.look(done, r) for r in range(1, 30))


def test_every_third_round_up_to_a_last_one():
    assert [r for r in range(1, 30) if Every(2, every=3, last=12).look(state([0]), r)] == [2, 5, 8, 11]


def test_as_a_condition_it_asks_about_the_round_under_way():
    schedule = Every(3, every=4)
    assert [r for r in range(1, 10) if schedule.looks(a_round(state([0], round=r - 1)))] == [3, 7]


def rounds_until_it_acts(schedule, partitions, before):
    for number, partition in enumerate(partitions, start=1):
        act, before = schedule.act(before, partition)
        if act:
            return number
    return None


def test_stable_flocks_are_acted_on_after_patience_rounds_and_then_never_looked_for_again():
    schedule, start = WhenStable(patience=3), state([0] * 4)
    act = False
    for number in range(1, 10):
        assert schedule.look(start, number + 1)
        act, start = schedule.act(start, found([0, 0, 1, 1]))
        if act:
            break
    assert number == 4
    assert not schedule.look(start, 99)


def test_other_names_for_the_same_flocks_are_not_a_change():
    flips = [found([0, 0, 1, 1]), found([1, 1, 0, 0])] * 5
    assert rounds_until_it_acts(WhenStable(patience=4), flips, state([0] * 4)) == 5


def test_flocks_that_keep_changing_are_never_acted_on():
    changing = [found([0, 0, 1, 1]), found([0, 1, 0, 1])] * 20
    assert rounds_until_it_acts(WhenStable(patience=2), changing, state([0] * 4)) is None


def test_one_flock_is_never_acted_on_however_stable():
    assert rounds_until_it_acts(WhenStable(patience=2), [found([0] * 4)] * 30, state([0] * 4)) is None


def test_it_waits_while_new_clients_are_being_heard():
    growing = [found([0, 0, 1, 1, *([0] * k)]) for k in range(12)]
    acted = rounds_until_it_acts(WhenStable(patience=2), growing, state([0] * 16))
    assert acted == 12, "15 of 16 are at least nine tenths; nothing less is"


def test_clients_that_never_answer_do_not_hold_up_the_others():
    half = [found([0, 0, 1, 1])] * 12
    assert rounds_until_it_acts(WhenStable(patience=3), half, state([0] * 8)) == 4


def test_those_set_apart_are_not_waited_for():
    known = [found([0, 0, 1, 1])] * 4
    assert rounds_until_it_acts(WhenStable(patience=2), known, state([0] * 8, apart=[0] * 4 + [1] * 4)) == 3
